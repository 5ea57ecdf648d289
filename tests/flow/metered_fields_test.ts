/**
 * What is sent is counted: every field of both wire formats' requests that may hold text, those of the SDKs'
 * types and invented ones, holds and costs what the same text does in a user's message.
 */

import {
  bridgeBetween,
  DIALECT_NAMES,
  type DialectName,
  DIALECTS,
  isOpenEnded,
  type JsonObject,
  meterRequest,
  type ParsedRequest,
} from "../../src/wire/dialects/mod.ts";
import { countInput, parseChat, parseMessages, parseResponses } from "../wire/dialects/ends.ts";
import { Refusal } from "../../src/ground/refusal.ts";
import { assert, assertEquals } from "../assert.ts";
import { assertLedgerClean, customer } from "../fake/customer.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { Random, testSeed } from "../fake/random.ts";
import { until } from "../fake/temp.ts";
import { chunk, eventStream, fakeUpstream, pacedStream, sse } from "../fake/upstream.ts";
import { sized } from "../tier.ts";
import { MARK, readFields } from "../wire/formats/fields.ts";
import { eventsFor, linesOf, responseOf } from "../wire/dialects/responses_streams.ts";
import {
  INVENTED_CHAT,
  INVENTED_MESSAGES,
  INVENTED_RESPONSES,
} from "../wire/formats/invented_fields.ts";

const LEAST = 0.6;
const MOST = 1.7;
/** What nobody knows counts as JSON: of short keys, half of that is quotes. */
const mostOf = (name: string) => /many short keys|keys of empty/.test(name) ? 2.4 : MOST;

/** Ordinary words; a word that is nowhere else in a body tells that they were sent. */
const WORDS = ["river", "table", "seven", "green", "under", "paper", "music", "quick", "zebra"];
const wordsOf = remembered((count: number, separator: string) =>
  Array.from({ length: count }, (_, at) => WORDS[(at * 7 + (at >> 4)) % WORDS.length])
    .join(separator)
);

/** The same texts are asked for by every case. */
function remembered<T>(make: (count: number, separator: string) => T) {
  const made = new Map<string, T>();
  return (count: number, separator = " "): T => {
    const key = `${count}${separator}`;
    if (!made.has(key)) made.set(key, make(count, separator));
    return made.get(key)!;
  };
}

/** How often the words stand in a body. */
const copiesIn = (json: string, count: number) => zebrasIn(json) / zebrasOf(count);
const zebrasIn = (text: string) => (text.match(/zebra/g) ?? []).length;
const zebrasOf = remembered((count) => zebrasIn(wordsOf(count)));

interface Case {
  readonly name: string;
  body(text: string): JsonObject;
}

const fields = await readFields();

/** A conversation has to have something of the user's besides. */
function completed(body: JsonObject, role: string): JsonObject {
  const messages = body.messages as JsonObject[];
  return { ...body, messages: [{ role, content: "Hi" }, ...messages] };
}

function withInput(body: JsonObject): JsonObject {
  const { input = "Hi" } = body;
  return Array.isArray(input)
    ? { ...body, input: [{ role: "user", content: "Hi" }, ...input] }
    : { ...body, input };
}

function casesOf(
  known: readonly { path: string; body: unknown }[],
  complete: (body: JsonObject) => JsonObject = (body) => completed(body, "user"),
): Case[] {
  return known.map(({ path, body }) => ({
    name: path,
    body: (text) => {
      const json = JSON.stringify(body).replace(JSON.stringify(MARK), () => JSON.stringify(text));
      return complete(JSON.parse(json));
    },
  }));
}

const CASES: Readonly<Record<DialectName, readonly Case[]>> = {
  chat: [...casesOf(fields.chatRequest), ...INVENTED_CHAT],
  messages: [...casesOf(fields.messagesRequest), ...INVENTED_MESSAGES],
  responses: [...casesOf(fields.responsesRequest, withInput), ...INVENTED_RESPONSES],
};
const INVENTED = {
  chat: INVENTED_CHAT,
  messages: INVENTED_MESSAGES,
  responses: INVENTED_RESPONSES,
} as const;
const PAIRINGS = DIALECT_NAMES.flatMap((from) => DIALECT_NAMES.map((to) => [from, to] as const));

/** Pictures have rules of their own: what stands in an image's address is checked to be one. */
const isImage = (path: string) =>
  /image_url\.url$|\(input_image\)\.image_url$|\(image\)\.source|screenshot/.test(path);

function readAs(dialect: DialectName, body: JsonObject): ParsedRequest | undefined {
  try {
    if (dialect === "responses") return parseResponses({ ...body, model: "m" });
    return dialect === "messages"
      ? parseMessages({ ...body, model: "m", max_tokens: 100 }, { beta: true })
      : parseChat({ ...body, model: "m" });
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

const inMessage = (dialect: DialectName, text: string): JsonObject => ({
  [dialect === "responses" ? "input" : "messages"]: [{ role: "user", content: text }],
});

/** The tokens of the words in a user's message. */
const ordinaryIn = (dialect: DialectName) =>
  remembered((count, separator) =>
    countInput(readAs(dialect, inMessage(dialect, wordsOf(count, separator)))!)
  );
const ORDINARY = {
  chat: ordinaryIn("chat"),
  messages: ordinaryIn("messages"),
  responses: ordinaryIn("responses"),
};

/** A case that is sent and not counted, or counted and not sent, in words. */
function faultOf(
  { name, body }: Case,
  [from, to]: readonly [DialectName, DialectName],
  count: number,
  separator: string,
): string | undefined {
  const text = wordsOf(count, separator);
  const asked = readAs(from, body(text));
  if (asked === undefined) return undefined; // refused
  let sent: JsonObject;
  try {
    const shaping = {};
    sent = bridgeBetween(from, to).request(asked, {
      model: "m",
      upstream: "up",
      permittedOutput: 100,
      shaping,
    }).body;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
  const copies = copiesIn(JSON.stringify(sent), count);
  if (copies < 0.1) return undefined; // dropped
  const counted = countInput(asked);
  const ordinary = ORDINARY[from](count, separator);
  const ratio = counted / (ordinary * Math.max(1, Math.round(copies)));
  return ratio >= LEAST && ratio <= mostOf(name)
    ? undefined
    : `${ratio.toFixed(3)} ${from}→${to} ${JSON.stringify(separator)} ${name}`;
}

for (const dialect of DIALECT_NAMES) {
  Deno.test(`words of the wire formats are text where text may stand: ${dialect}`, () => {
    for (const word of ["assistant", "user", "low", "auto", "text", "stop", "file"]) {
      const field = dialect === "responses" ? "input" : "messages";
      const type = dialect === "responses" ? "input_text" : "text";
      const body = (text: string) => ({
        [field]: [{ role: "user", content: Array(1_000).fill({ type, text }) }],
      });
      const counted = countInput(readAs(dialect, body(word))!);
      assert(counted >= 1_000, `${word}: ${counted}`);
    }
  });
}

for (const pairing of PAIRINGS) {
  for (const separator of [" ", "\n", "_"]) {
    Deno.test(`each text that is sent is counted: ${pairing.join(" → ")}, words with ${JSON.stringify(separator)}`, () => {
      const faults = CASES[pairing[0]].filter(({ name }) => !isImage(name))
        .flatMap((one) => faultOf(one, pairing, 300, separator) ?? []);
      assertEquals(faults, []);
    });
  }
  const many = sized(3_000, 100_000);
  Deno.test(`each invented field with ${many} tokens is counted: ${pairing.join(" → ")}`, () => {
    const faults = INVENTED[pairing[0]].flatMap((one) => faultOf(one, pairing, many, " ") ?? []);
    assertEquals(faults, []);
  });
}

/** Numbers are put into a prompt, too. */
const NUMBERS: Readonly<Record<string, (numbers: readonly number[]) => JsonObject>> = {
  "a list": (numbers) => ({ invented: [...numbers] }),
  "fields": (numbers) => ({
    invented: Object.fromEntries(numbers.map((number, at) => [`k${at % 1_000}_${at}`, number])),
  }),
};
for (const [name, place] of Object.entries(NUMBERS)) {
  Deno.test(`numbers that are sent are counted: ${name}`, () => {
    const numbers = Array.from({ length: 2_000 }, (_, at) => (at * 7_919) % 100_003);
    const body = place(numbers);
    const count = (messages: JsonObject) => countInput(readAs("chat", { messages: [messages] })!);
    const ordinary = count({ role: "user", content: JSON.stringify(body.invented) });
    const there = count({ role: "user", content: "Hi", ...body });
    const ratio = there / ordinary;
    assert(ratio >= LEAST && ratio <= MOST, `${ratio}`);
  });
}

/** A token costs a credit, so that charges are tokens. */
const BY_THE_TOKEN = {
  context: 1_000_000,
  maxInput: 900_000,
  maxOutput: 100_000,
  minimum: 1,
  prices: { input: 1_000_000, cached: 1_000_000, output: 1_000_000 },
  images: "inline" as const,
};

const SAID = Array.from({ length: 20 }, (_, at) => `word${at} `);
const chatAnswer = (slow: boolean) => {
  const pieces = [...SAID.map((said) => sse(chunk({ content: said }))), sse(chunk({}, "stop"))];
  return slow ? pacedStream(20, pieces) : eventStream(...pieces, sse("[DONE]"));
};
const messagesAnswer = (slow: boolean) => {
  const event = (type: string, more: JsonObject) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  const pieces = [
    event("message_start", { message: { id: "m", content: [], role: "assistant" } }),
    event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    ...SAID.map((text) =>
      event("content_block_delta", { index: 0, delta: { type: "text_delta", text } })
    ),
    event("content_block_stop", { index: 0 }),
    event("message_delta", { delta: { stop_reason: "end_turn" } }),
    event("message_stop", {}),
  ];
  return slow ? pacedStream(20, pieces) : eventStream(...pieces);
};
const responsesAnswer = (slow: boolean) => {
  const events = eventsFor([{ text: SAID }], { usage: null });
  const pieces = events.map((event) => linesOf([event]));
  return slow ? pacedStream(20, pieces) : eventStream(...pieces);
};
const streamed = { chat: chatAnswer, messages: messagesAnswer, responses: responsesAnswer };
const whole = {
  responses: () => Response.json(responseOf([{ text: SAID }], { usage: null })),
  chat: () =>
    Response.json({
      choices: [{
        index: 0,
        message: { role: "assistant", content: SAID.join("") },
        finish_reason: "stop",
      }],
    }),
  messages: () =>
    Response.json({
      type: "message",
      role: "assistant",
      content: [{ type: "text", text: SAID.join("") }],
      stop_reason: "end_turn",
    }),
};

const WAYS = ["whole", "streamed", "left"] as const;

/** Whether a request has something that only its upstream gets to know: all that it may be is held. */
const mayBeLonger = (body: JsonObject) =>
  isOpenEnded(body, []) || meterRequest(body, []).openTokens > 0;

for (const [from, to] of PAIRINGS) {
  Deno.test(`what is sent is held and charged: ${from} → ${to}, a sample through the gateway`, async () => {
    const seed = testSeed();
    const random = new Random(seed);
    let slow = false;
    let held = 0;
    let sent = "";
    await using upstream = fakeUpstream(async ({ body, raw }) => {
      sent = raw;
      const [row] = await gateway.gateway.database.all("select sum(credits) as held from holds");
      held = Number(row!.held);
      return body.stream === true ? streamed[to](slow) : whole[to]();
    });
    await using gateway = await startGateway({
      lendFrom: Infinity, // what is held is read from the database
      settings: {
        upstream: { url: upstream.url, dialect: to },
        routes: { token: BY_THE_TOKEN },
      },
    });
    const { keys: [key] } = await customer(gateway, 1_000_000_000);
    const { path } = DIALECTS[from].front;
    const limit = from === "responses" ? "max_output_tokens" : "max_tokens";

    /** What a request held and cost; undefined when it was refused or does not hold the words. */
    const ask = async (body: JsonObject, count: number, way: typeof WAYS[number]) => {
      slow = way === "left";
      const leaving = new AbortController();
      const known = new Set((await usageRecords(gateway)).map(({ request_id: id }) => id));
      const reply = await gateway.post(path, {
        ...body,
        model: "token",
        [limit]: 40,
        stream: way !== "whole",
      }, {
        key: key!,
        headers: { "anthropic-beta": "test" },
        signal: leaving.signal,
      });
      if (way === "left" && reply.ok) {
        const reader = reply.body!.getReader();
        let got = "";
        while (!got.includes("word3")) {
          const { value, done } = await reader.read();
          if (done) break;
          got += new TextDecoder().decode(value);
        }
        leaving.abort();
        await reader.cancel().catch(() => {});
      } else await reply.text();
      await until(() => gateway.gateway.inFlight.count === 0, { what: "the end of the request" });
      if (!reply.ok) {
        assert(reply.status === 400, `${reply.status}`);
        return undefined;
      }
      await until(async () => (await usageRecords(gateway)).length > known.size, {
        what: "its record",
      });
      const record = (await usageRecords(gateway)).find(({ request_id: id }) => !known.has(id))!;
      return {
        held,
        charged: Number(record.charged_credits),
        copies: copiesIn(sent, count),
      };
    };

    const count = 2_000;
    const faults: string[] = [];
    for (const way of WAYS) {
      const ordinary = (await ask(inMessage(from, wordsOf(count)), count, way))!;
      for (let times = 0; times < sized(1, 25); times++) {
        const one = random.pick(CASES[from]);
        if (isImage(one.name)) continue;
        const got = await ask(one.body(wordsOf(count)), count, way);
        if (got === undefined || got.copies < 0.1) continue;
        // of words in two fields, the gateway may send one: it holds at least that one, and at most both
        const most = Math.max(1, Math.round(got.copies));
        const least = Math.min(most, got.copies < 0.75 ? got.copies : most);
        for (const what of ["held", "charged"] as const) {
          const ratio = got[what] / (ordinary[what] * most);
          const isReserved = what === "held" && mayBeLonger(one.body(wordsOf(count)));
          const isWithin = ratio <= mostOf(one.name) || isReserved;
          if (got[what] >= LEAST * ordinary[what] * least && isWithin) continue;
          faults.push(`${ratio.toFixed(3)} ${what} ${way} ${one.name}`);
        }
      }
    }
    assertEquals(faults, [], `seed ${seed}`);
    await assertLedgerClean(gateway);
  });
}
