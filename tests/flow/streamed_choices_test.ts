/** Several choices of a stream whose upstream ignores `n`, asked for the first time of its model. */

import { assert, assertEquals } from "../assert.ts";
import { assertLedgerClean, type Customer, customer } from "../fake/customer.ts";
import { startGateway, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { until } from "../fake/temp.ts";
import { chunk, eventStream, type FakeUpstream, fakeUpstream, sse } from "../fake/upstream.ts";

/** A credit for each output token, nothing for input. */
const BY_THE_TOKEN = {
  context: 100_000,
  maxOutput: 5_000,
  minimum: 1,
  prices: { input: 0, cached: 0, output: 1_000_000 },
};
const N = 3;
/** Words of each choice, a token each. */
const WORDS = 20;
/** A word for each of the upstream's replies, so that it shows where they went. */
const SAID = ["river", "table", "green"];

const wordOf = (call: number) => sse(chunk({ content: `${SAID[call]} ` }));

/** A reply of one choice, whatever was asked for. */
function choiceOf(call: number, { isReported }: { isReported: boolean }): string[] {
  const usage = { prompt_tokens: 7, completion_tokens: WORDS, total_tokens: 7 + WORDS };
  return [
    sse(chunk({ role: "assistant", content: "" })),
    ...Array.from({ length: WORDS }, () => wordOf(call)),
    sse(chunk({}, "stop")),
    ...(isReported ? [sse(JSON.stringify({ choices: [], usage }))] : []),
    sse("[DONE]"),
  ];
}

/** A reply that begins and stays silent until it is given up. */
function stalled(call: number, onGivenUp: () => void): Response {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(wordOf(call))),
    cancel: onGivenUp,
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

async function start(upstream: FakeUpstream): Promise<
  & { gateway: TestGateway; owner: Customer; post(signal?: AbortSignal): Promise<Response> }
  & AsyncDisposable
> {
  const gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url },
      routes: { token: BY_THE_TOKEN },
      onClientDisconnect: "abort",
    },
  });
  const owner = await customer(gateway, 1_000);
  return {
    gateway,
    owner,
    post: (signal) =>
      gateway.chat("Hi", {
        model: "token",
        n: N,
        max_tokens: 100,
        stream: true,
        stream_options: { include_usage: true },
      }, { key: owner.keys[0]!, ...(signal === undefined ? {} : { signal }) }),
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

/** The data of each event, parsed but for `[DONE]`. */
const dataOf = (text: string) =>
  text.split("\n\n").filter((event) => event.startsWith("data: "))
    .map((event) => event.slice("data: ".length))
    .map((data) => data === "[DONE]" ? data : JSON.parse(data));

/** What a stream said of each choice, by index. */
function choicesIn(text: string) {
  const choices: { content: string; finish: (string | undefined)[] }[] = [];
  for (const { choices: [choice] = [] } of dataOf(text)) {
    if (choice === undefined) continue;
    const one = choices[choice.index] ??= { content: "", finish: [] };
    assertEquals(one.finish, [], `choice ${choice.index} goes on behind its end`);
    one.content += choice.delta.content ?? "";
    if (choice.finish_reason !== null) one.finish.push(choice.finish_reason);
  }
  return choices;
}

const wordsIn = (text: string) => text.match(new RegExp(SAID.join("|"), "g"))?.length ?? 0;

/** The request is settled once, for about that number of tokens of output, and for nothing else. */
async function settledOnce(
  { gateway, owner }: { gateway: TestGateway; owner: Customer },
  { minTokens, maxTokens }: { minTokens: number; maxTokens: number },
) {
  const records = await usageRecords(gateway);
  assertEquals(records.length, 1);
  const record = records[0]!;
  const charged = Number(record.charged_credits);
  assert(charged >= minTokens && charged <= maxTokens, `${charged} credits`);
  assertEquals([record.output_tokens, record.price_credits], [charged, charged]);
  assertEquals(await owner.balance(), 1_000 - charged);
  const entries = await gateway.gateway.database.all(
    "select cause_id, credits from entries where kind = 'charge'",
  );
  assertEquals(entries, [{ cause_id: record.request_id!, credits: -charged }]);
  await assertLedgerClean(gateway);
  return record;
}

for (const isReported of [true, false]) {
  const upstreams = `an upstream that ignores n and ${
    isReported ? "reports" : "does not report"
  } usage`;

  Deno.test(`n, streamed: ${upstreams} is asked again for the choices that are missing`, async () => {
    let calls = 0;
    await using upstream = fakeUpstream(() => eventStream(...choiceOf(calls++, { isReported })));
    await using started = await start(upstream);
    const text = await (await started.post()).text();
    const tokens = N * WORDS;
    const record = await settledOnce(
      started,
      isReported
        ? { minTokens: tokens, maxTokens: tokens }
        : { minTokens: 0.6 * tokens, maxTokens: 1.7 * tokens },
    );
    assertEquals(
      [record.ending, record.usage_source, record.attempts],
      ["complete", isReported ? "upstream" : "counted", N],
    );
    if (isReported) assertEquals(record.input_tokens, N * 7);
    assertEquals(upstream.received.length, N);

    const choices = choicesIn(text);
    assertEquals(choices.map(({ finish }) => finish), Array(N).fill(["stop"]));
    assertEquals(
      choices.map(({ content }) => content).toSorted(),
      SAID.map((word) => `${word} `.repeat(WORDS)).toSorted(),
    );
    const data = dataOf(text);
    assertEquals(data.filter((one) => one === "[DONE]").length, 1);
    assertEquals(data.at(-1), "[DONE]");
    assertEquals(new Set(data.slice(0, -1).map(({ id }) => id)).size, 1);
    const usages = data.filter(({ usage }) => usage);
    assertEquals(usages.map(({ choices }) => choices), [[]], "one usage, at the end");
    const { prompt_tokens, completion_tokens } = usages[0].usage;
    assertEquals(
      [prompt_tokens, completion_tokens],
      [record.input_tokens, record.output_tokens],
    );
  });

  Deno.test(`n, streamed: who disconnects after the first choice pays for what it got: ${upstreams}`, async () => {
    let calls = 0;
    let stalling = 0;
    await using upstream = fakeUpstream(() => {
      const call = calls++;
      if (call === 0) return eventStream(...choiceOf(call, { isReported }));
      stalling++;
      return stalled(call, () => stalling--);
    });
    await using started = await start(upstream);
    const leaving = new AbortController();
    const reader = (await started.post(leaving.signal)).body!
      .pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const hasOther = () => /table|green/.test(text); // words of the second part
    while (!text.includes('"finish_reason":"stop"') || !hasOther()) {
      const { value, done } = await reader.read();
      if (done) break;
      text += value;
    }
    assertEquals(choicesIn(text)[0], {
      content: `${SAID[0]} `.repeat(WORDS),
      finish: ["stop"],
    });
    assert(hasOther(), "a second choice has begun");
    assert(!text.includes("[DONE]"));
    leaving.abort();
    await reader.cancel().catch(() => {});
    const { inFlight: running } = started.gateway.gateway;
    await until(() => running.count === 0 && stalling === 0, { what: "the upstream's rest" });
    const record = await settledOnce(started, {
      minTokens: 0.6 * wordsIn(text),
      maxTokens: 1.7 * (WORDS + N),
    });
    assertEquals([record.ending, record.usage_source], ["client_left", "counted"]);
  });

  Deno.test(`n, streamed: a choice that is refused stays out, the others are charged: ${upstreams}`, async () => {
    let calls = 0;
    await using upstream = fakeUpstream(() => {
      const call = calls++;
      return call === 1
        ? new Response("no", { status: 400 })
        : eventStream(...choiceOf(call, { isReported }));
    });
    await using started = await start(upstream);
    const text = await (await started.post()).text();
    await settledOnce(started, {
      minTokens: 0.6 * wordsIn(text),
      maxTokens: 1.7 * wordsIn(text),
    });
    assertEquals(choicesIn(text).filter((one) => one?.finish[0] === "stop").length, N - 1);
    assertEquals(wordsIn(text), (N - 1) * WORDS);
    assertEquals(dataOf(text).at(-1), "[DONE]");
  });

  Deno.test(`n, streamed: a choice that breaks off fails the stream, which is free: ${upstreams}`, async () => {
    let calls = 0;
    await using upstream = fakeUpstream(() => {
      const call = calls++;
      return call === 1
        ? eventStream(wordOf(call), wordOf(call)) // without a finish reason
        : eventStream(...choiceOf(call, { isReported }));
    });
    await using started = await start(upstream);
    const data = dataOf(await (await started.post()).text());
    assert(data.at(-1).error?.message !== undefined, JSON.stringify(data.at(-1)));
    assertEquals(data.filter(({ error }) => error).length, 1);
    assert(!data.includes("[DONE]"));
    const [record, ...others] = await usageRecords(started.gateway);
    assertEquals(others, []);
    assertEquals([record!.ending, record!.charged_credits], ["upstream_failed", 0]);
    assertEquals(await started.owner.balance(), 1_000);
    await assertLedgerClean(started.gateway);
  });
}
