/** Requests that are small as they come and large as they are sent: the hold covers what is sent. */

import { TokenCounter } from "../../src/wire/tokens/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { assertLedgerClean } from "../fake/customer.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { until } from "../fake/temp.ts";
import { chunk, completion, fakeUpstream, pacedStream, sse } from "../fake/upstream.ts";

const TOOLS = Array.from({ length: 400 }, (_, at) => ({ type: "custom", name: `f${at}` }));
const CALL = { type: "function_call", call_id: "a", name: "qXzKvJ7Wd2HpYb9RfTm4", arguments: "" };
const OUTPUT = { type: "function_call_output", call_id: "a", output: "x" };

for (
  const [path, body] of [
    ["/v1/responses", { input: "Hi", tools: TOOLS }],
    ["/v1/responses/compact", {
      input: [{ role: "user", content: "Hi" }, CALL, ...Array.from({ length: 400 }, () => OUTPUT)],
    }],
  ] as const
) {
  Deno.test(`${path}: a hold covers what the gateway adds`, async () => {
    await using upstream = fakeUpstream(() => completion("Done.", { usage: null }));
    await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
    const reply = await gateway.post(path, { model: "svc-k2", ...body });
    assertEquals([reply.status, await reply.json().then(({ error }) => error ?? null)], [
      200,
      null,
    ]);
    const counter = new TokenCounter();
    const { messages, tools = [] } = upstream.received[0]!.body;
    for (const { content } of messages) counter.add(`${content}\n`);
    for (const tool of tools) counter.add(`${JSON.stringify(tool)}\n`);
    const [record] = await usageRecords(gateway);
    assertEquals(record!.usage_source, "counted");
    const ratio = Number(record!.input_tokens) / counter.tokens;
    assert(ratio > 0.6 && ratio < 1.7, `${record!.input_tokens} counted, ${counter.tokens} sent`);
    await assertLedgerClean(gateway);
  });
}

for (
  const [how, fields, least] of [
    ["sealed", { include: ["reasoning.encrypted_content"], store: false }, 8_000],
    ["kept", {}, 8_000],
    ["not delivered", { store: false }, 8_000],
  ] as const
) {
  Deno.test(`reasoning that an upstream hides counts as output for a client that leaves: ${how}`, async () => {
    const event = (fields: { type: string; [name: string]: unknown }) =>
      sse(JSON.stringify(fields));
    await using upstream = fakeUpstream(() =>
      pacedStream(20, [
        event({
          type: "message_start",
          message: {
            id: "m",
            type: "message",
            role: "assistant",
            model: "m",
            content: [],
            usage: {},
          },
        }),
        event({
          type: "content_block_start",
          index: 0,
          content_block: { type: "redacted_thinking", data: "aB9x".repeat(10_000) },
        }),
        event({ type: "content_block_stop", index: 0 }),
        event({ type: "content_block_start", index: 1, content_block: { type: "text", text: "" } }),
        event({
          type: "content_block_delta",
          index: 1,
          delta: { type: "text_delta", text: "Hello" },
        }),
        ...Array.from({ length: 100 }, () => ": more\n\n"),
      ])
    );
    await using gateway = await startGateway({
      settings: { upstream: { url: upstream.url, dialect: "messages" } },
    });
    const leave = new AbortController();
    const asked = { model: "svc-k3", input: "Hi", stream: true, max_output_tokens: 20_000 };
    const body = { ...asked, ...fields };
    const reply = await gateway.post("/v1/responses", body, { signal: leave.signal });
    const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes('"delta":"Hello"')) {
      const { value, done } = await reader.read();
      assert(!done, text);
      text += value;
    }
    leave.abort();
    await reader.cancel().catch(() => {});
    await until(async () => (await usageRecords(gateway)).length === 1, { what: "the record" });
    const [record] = await usageRecords(gateway);
    const output = Number(record!.output_tokens);
    assertEquals(record!.ending, "client_left");
    assert(output >= least && output < least + 100, `${output} output tokens`);
    await assertLedgerClean(gateway);
  });
}

Deno.test("a model that has reported reasoning that it hid may hide it again, whatever its route says", async () => {
  const words = "word ".repeat(20);
  const usage = (reasoning: number) => ({
    prompt_tokens: 5,
    completion_tokens: 20 + reasoning,
    completion_tokens_details: { reasoning_tokens: reasoning },
  });
  await using upstream = fakeUpstream(({ body }) =>
    body.stream
      ? pacedStream(20, [
        sse(chunk({ content: words })),
        ...Array.from({ length: 100 }, () => ": more\n\n"),
      ])
      : completion(words, { usage: usage(body.model === "hides" ? 400 : 0) })
  );
  const route = (model: string) => ({
    targets: [{ upstream: "default", model }],
    prices: { input: 0, cached: 0, output: 1_000_000 },
  });
  await using gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url },
      routes: { hides: route("hides"), plain: route("plain") },
      onClientDisconnect: "abort",
    },
  });
  const left = async (model: string) => {
    const leave = new AbortController();
    const reply = await gateway.chat("Hi", { model, stream: true, max_tokens: 1_000 }, {
      signal: leave.signal,
    });
    const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader();
    while (!(await reader.read()).value!.includes("word"));
    leave.abort();
    await reader.cancel().catch(() => {});
    await until(() => gateway.gateway.inFlight.count === 0, { what: "the end of the request" });
    const records = await usageRecords(gateway);
    return Number(records.at(-1)!.output_tokens);
  };
  assert(await left("hides") < 40, "nothing is known of it");
  for (const model of ["hides", "plain"]) {
    await (await gateway.chat("Hi", { model, max_tokens: 1_000 })).text();
  }
  assertEquals(await left("hides"), 1_000);
  assert(await left("plain") < 40, "it hides nothing");
  await assertLedgerClean(gateway);
});
