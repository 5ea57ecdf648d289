/**
 * A random thief against the whole gateway: bodies with text in any field, disconnects at any moment, stalls,
 * upstreams that lie. Books are kept beside: what each upstream received and each client got, by o200k.
 * `SLUICE_THIEF_REQUESTS=20000` for the long run, `SLUICE_TEST_SEED` for the same one again.
 */

import { encode } from "gpt-tokenizer/encoding/o200k_base";
import type { DialectName, JsonObject } from "../../src/dialects/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { assertLedgerClean, customer } from "../fake/customer.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { Random, testSeed } from "../fake/random.ts";
import { until } from "../fake/temp.ts";
import { chunk, fakeUpstream, sse } from "../fake/upstream.ts";
import { INVENTED_CHAT, INVENTED_MESSAGES } from "../wire/invented_fields.ts";

type Name = DialectName;

const REQUESTS = Number(Deno.env.get("SLUICE_THIEF_REQUESTS") ?? 2_000);
const AT_ONCE = 8;
/** Credits for a thousand tokens. */
const PRICES = { input: 100, output: 400 };
const CONTEXT = 100_000;
const ROUTE = {
  context: CONTEXT,
  maxOutput: 20_000,
  minimum: 1,
  images: "inline" as const,
  prices: {
    input: 1_000 * PRICES.input,
    cached: 1_000 * PRICES.input,
    output: 1_000 * PRICES.output,
  },
};
const priceOf = (input: number, output: number) =>
  Math.max(1, Math.ceil((input * PRICES.input + output * PRICES.output) / 1_000));

const WORDS = ["river", "table", "seven", "green", "under", "paper", "music", "quick", "zebra"];
const EACH_WORD = new RegExp(WORDS.join("|"), "g");
const tokensIn = (text: string) => encode((text.match(EACH_WORD) ?? []).join(" ")).length;

/** What an upstream does with a request. */
const LIES = [
  "honest",
  "silent", // on its usage
  "zero",
  "low",
  "absurd",
  "overshooting",
  "breaking",
  "broken tail",
  "garbled tail",
  "failing",
  "stalling",
] as const;
/** What a client does with its response. */
const MANNERS = [
  "reads",
  "reads",
  "reads slowly",
  "leaves at once",
  "leaves",
  "leaves at the finish",
] as const;

interface Plan {
  readonly lie: typeof LIES[number];
  readonly manner: typeof MANNERS[number];
  readonly from: Name;
  readonly stream: boolean;
  readonly body: JsonObject;
  readonly answerWords: number;
  readonly place: string;
  readonly field: string;
  /** Input tokens that the upstream received at last. */
  received: number;
  /** Its report, if it made one that is to be believed. */
  reported: { input: number; output: number } | undefined;
}

const PLACES: Readonly<Record<Name, Readonly<Record<string, (text: string) => JsonObject>>>> = {
  chat: {
    content: (content) => ({ content }),
    parts: (text) => ({ content: [{ type: "text", text }] }),
    reasoning: (text) => ({ reasoning_content: text }),
    custom: (input) => ({
      tool_calls: [{ index: 0, id: "c", type: "custom", custom: { name: "f", input } }],
    }),
    unknown: (text) => ({ invented: [text] }),
  },
  messages: {
    text: (text) => ({ type: "text_delta", text }),
    thinking: (thinking) => ({ type: "thinking_delta", thinking }),
    compaction: (content) => ({ type: "compaction_delta", content }),
    unknown: (text) => ({ type: "invented_delta", invented: text }),
  },
};

const wordsOf = (random: Random, count: number) =>
  Array.from({ length: count }, () => random.pick(WORDS)).join(" ");

function planned(random: Random, number: number, to: Name): Plan {
  const from = random.pick(["chat", "messages"] as const);
  const one = random.pick(from === "chat" ? INVENTED_CHAT : INVENTED_MESSAGES);
  const plain = random.next() < 0.5;
  const text = wordsOf(random, random.pick([20, 200, 1_500]));
  const body = plain ? { messages: [{ role: "user", content: text }] } : one.body(text);
  const stream = random.next() < 0.7;
  const answerWords = random.pick([5, 60, 400]);
  return {
    lie: random.pick(LIES),
    manner: random.pick(MANNERS),
    from,
    stream,
    answerWords,
    place: random.pick(Object.keys(PLACES[to])),
    field: plain ? "message" : one.name,
    body: {
      ...body,
      messages: [{ role: "user", content: `#${number}#` }, ...body.messages as JsonObject[]],
      model: "token",
      stream,
      max_tokens: random.pick([10, 500, 2_000]),
      ...(from === "chat" && random.next() < 0.1 ? { n: 2 } : {}),
    },
    received: 0,
    reported: undefined,
  };
}

const event = (type: string, more: JsonObject) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;

/** What an upstream says of its usage; the report that counts goes into the plan. */
function usageOf(plan: Plan, said: number): { input: number; output: number } | undefined {
  const honest = { input: plan.received, output: said };
  switch (plan.lie) {
    case "silent":
    case "overshooting":
      return undefined;
    case "zero":
      return plan.reported = { input: 0, output: 0 };
    case "low":
      return plan.reported = { input: Math.ceil(honest.input / 10), output: 1 };
    case "absurd":
      return { input: 3 * CONTEXT, output: 1e9 };
    default:
      return plan.reported = honest;
  }
}

function reply(plan: Plan, to: Name, random: Random, asked: JsonObject): Response {
  if (plan.lie === "failing") return new Response("{}", { status: 503 });
  const limit = Number(asked.max_tokens ?? asked.max_completion_tokens);
  const count = plan.lie === "overshooting" ? 3 * limit + 100 : Math.min(limit, plan.answerWords);
  const text = wordsOf(random, count);
  const usage = usageOf(plan, tokensIn(text));
  const chatUsage = usage &&
    { prompt_tokens: usage.input, completion_tokens: usage.output, total_tokens: 1 };
  const messagesUsage = usage && { input_tokens: usage.input, output_tokens: usage.output };
  const say = PLACES[to][plan.place]!;
  if (asked.stream !== true) {
    return to === "chat"
      ? Response.json({
        choices: [{
          index: 0,
          message: { role: "assistant", content: text },
          finish_reason: "stop",
        }],
        ...(chatUsage && { usage: chatUsage }),
      })
      : Response.json({
        type: "message",
        role: "assistant",
        content: [{ type: "text", text }],
        stop_reason: "end_turn",
        ...(messagesUsage && { usage: messagesUsage }),
      });
  }
  const said = (text.match(/(\S+\s*){1,7}/g) ?? []).map((piece) =>
    to === "chat"
      ? sse(chunk(say(piece)))
      : event("content_block_delta", { index: 0, delta: say(piece) })
  );
  const opening = to === "chat" ? [] : [
    event("message_start", { message: { id: "m", role: "assistant", content: [] } }),
    event("content_block_start", {
      index: 0,
      content_block: plan.place === "thinking"
        ? { type: "thinking", thinking: "" }
        : { type: "text", text: "" },
    }),
  ];
  const finish = to === "chat"
    ? [sse(JSON.stringify({ ...JSON.parse(chunk({}, "stop")), usage: chatUsage }))]
    : [
      event("content_block_stop", { index: 0 }),
      event("message_delta", { delta: { stop_reason: "end_turn" }, usage: messagesUsage }),
    ];
  const end = to === "chat" ? sse("[DONE]") : event("message_stop", {});
  let pieces = [...opening, ...said, ...finish];
  if (plan.lie === "breaking") pieces = [...opening, ...said.slice(0, said.length / 2)];
  else if (plan.lie === "garbled tail") pieces.push("data: nonsense\n\n");
  else if (plan.lie !== "broken tail") pieces.push(end);
  const pauses = plan.lie === "stalling" || plan.manner.startsWith("leaves");
  return streamOf(pieces, pauses);
}

/** An event stream that may pause on the way. */
function streamOf(pieces: readonly string[], pauses: boolean): Response {
  const encoder = new TextEncoder();
  let at = 0;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (pauses && at % 5 === 4) await new Promise((resolve) => setTimeout(resolve, 5));
      const piece = pieces[at++];
      if (piece === undefined) controller.close();
      else controller.enqueue(encoder.encode(piece));
    },
  }, { highWaterMark: 0 });
  return new Response(stream, { headers: { "content-type": "text/event-stream" } });
}

/** What a client got, and the id of its request; undefined where it left before the headers. */
interface Got {
  readonly requestId: string | undefined;
  readonly status: number;
  readonly text: string;
  /** Whether it read to the end. */
  readonly whole: boolean;
}

async function behave(
  plan: Plan,
  random: Random,
  post: (signal: AbortSignal) => Promise<Response>,
): Promise<Got> {
  const leaving = new AbortController();
  if (plan.manner === "leaves at once") setTimeout(() => leaving.abort(), random.integer(0, 4));
  const leavesAfter = random.integer(1, 60);
  let text = "";
  let requestId: string | undefined;
  let status = 0;
  try {
    const response = await post(leaving.signal);
    status = response.status;
    requestId = response.headers.get("request-id") ?? undefined;
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    while (true) {
      if (plan.manner === "reads slowly") await new Promise((resolve) => setTimeout(resolve, 2));
      const { value, done } = await reader.read();
      if (done) return { requestId, status, text, whole: true };
      text += decoder.decode(value, { stream: true });
      const enough = plan.manner === "leaves"
        ? (text.match(EACH_WORD) ?? []).length >= leavesAfter
        : plan.manner === "leaves at the finish" &&
          /"(finish|stop)_reason":"/.test(text);
      if (!enough || !plan.stream) continue;
      leaving.abort();
      await reader.cancel().catch(() => {});
      return { requestId, status, text, whole: false };
    }
  } catch {
    return { requestId, status, text, whole: false };
  }
}

for (const to of ["chat", "messages"] as const) {
  Deno.test(`a random thief gets at most one request for nothing: upstream of ${to}`, async () => {
    const seed = testSeed();
    const random = new Random(seed);
    const plans: Plan[] = [];
    await using upstream = fakeUpstream(({ body, raw }) => {
      const plan = plans[Number(/#(\d+)#/.exec(raw)![1])]!;
      plan.received = tokensIn(raw);
      return reply(plan, to, random, body);
    });
    await using gateway = await startGateway({
      settings: {
        upstream: { url: upstream.url, dialect: to },
        routes: { token: ROUTE },
      },
      firstWaitMs: 1,
    });
    const customers = await Promise.all(
      [300, 3_000, 30_000, 1e9, 1e9].map((credits) => customer(gateway, credits, { keys: 2 })),
    );
    const books = new Map(
      customers.map(({ accountId }) => [accountId, { prices: 0, charges: 0, highest: 0 }]),
    );
    const got = new Map<string, { plan: Plan; got: Got; accountId: string }>();
    const asks = { of: 0 };
    const client = async () => {
      while (asks.of++ < REQUESTS / 2) {
        const plan = planned(random, plans.length, to);
        plans.push(plan);
        const who = random.pick(customers);
        const key = random.pick(who.keys);
        const path = plan.from === "chat" ? "/v1/chat/completions" : "/v1/messages";
        const one = await behave(
          plan,
          random,
          (signal) => gateway.post(path, plan.body, { key, signal }),
        );
        if (one.requestId === undefined || one.status !== 200) continue;
        got.set(one.requestId, { plan, got: one, accountId: who.accountId });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, client));
    await until(() => gateway.gateway.running.count === 0, { withinMs: 20_000 });

    const faults: string[] = [];
    const records = await usageRecords(gateway);
    for (const record of records) {
      const book = books.get(String(record.account_id))!;
      const charged = Number(record.charged_credits);
      const price = Number(record.price_credits);
      const known = got.get(String(record.request_id));
      book.charges += charged;
      if (known === undefined) {
        book.prices += charged; // it got nothing
        continue;
      }
      const believed = record.ending === "complete" && record.usage_source === "upstream";
      const owed = known.plan.lie === "breaking" && record.ending === "upstream_failed"
        ? { credits: 0, why: "broken off", exact: false }
        : owedFor(known.plan, known.got, believed);
      book.prices += owed.credits;
      book.highest = Math.max(book.highest, owed.credits);
      const { plan } = known;
      const about =
        `${plan.from}→${to} ${plan.stream ? "streamed" : "whole"} ${plan.lie}, ${plan.manner}, ` +
        `in ${plan.field}, out ${plan.place}, n ${
          plan.body.n ?? 1
        }: owed ${owed.credits} (${owed.why}), priced ${price}, ` +
        `${record.ending} ${record.usage_source}, ${known.plan.received} in`;
      if (owed.exact ? price < owed.credits : price < 0.6 * owed.credits - 2) faults.push(about);
    }
    for (const [accountId, { prices, charges, highest }] of books) {
      // counts may be off by their promised error, here of ordinary words
      if (prices * 0.9 - charges <= highest) continue;
      faults.push(`${accountId}: prices ${prices}, charges ${charges}, highest ${highest}`);
    }
    assert(got.size > REQUESTS / 8, `${got.size} responses`);
    assertEquals(faults, [], `seed ${seed}: ${faults.length} of ${records.length}`);
    await assertLedgerClean(gateway);
  });
}

/**
 * What a request costs by the contract's table, from what was really received and got.
 *
 * @param believed Whether it is recorded as complete by its upstream's report: one that was made is believed.
 */
function owedFor(plan: Plan, got: Got, believed: boolean) {
  const words = tokensIn(got.text);
  const failed = got.text.includes('"error"');
  if (failed || words === 0 && !got.whole) return { credits: 0, why: "failed", exact: false };
  const { reported } = plan;
  if (reported !== undefined && (plan.body.n ?? 1) !== 1) {
    return { credits: 0, why: "reports of several answers", exact: false };
  }
  if (reported !== undefined && (believed || got.whole && !isCutOff(got))) {
    return { credits: priceOf(reported.input, reported.output), why: "reported", exact: true };
  }
  return { credits: priceOf(plan.received, words), why: "counted", exact: false };
}

/** Whether the gateway may have ended it, for lack of credits or at its limit. */
const isCutOff = (got: Got) => /_reason":"(length|max_tokens)"/.test(got.text);
