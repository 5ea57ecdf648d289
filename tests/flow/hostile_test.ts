import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { searchRecords } from "../../src/money/usage/mod.ts";
import { assertLedgerClean } from "../fake/customer.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { chunk, completion, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";

const IMAGE = { type: "image", source: { type: "url", url: "http://169.254.169.254/x.png" } };
const PIXEL = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };

Deno.test("fields with any name are answered, named where a header can, and recorded", async () => {
  await using gateway = await startGateway(); // the simulator speaks chat: these are translated
  const names = ["ключ", "a\nb", "\ud83d", "x".repeat(70_000), "\\ud83d"];
  for (const stream of [false, true]) {
    for (const name of names) {
      const reply = await gateway.post("/v1/messages", {
        model: "svc-k2",
        max_tokens: 9,
        stream,
        messages: [{ role: "user", content: "Hi" }],
        [name]: 1,
      });
      const ignored = reply.headers.get("x-sluice-ignored")!;
      assertEquals(reply.status, 200, await reply.text());
      assert(/^[!-~]{1,2000}$/.test(ignored), ignored.slice(0, 200));
    }
  }
  const { database, inFlight: running } = gateway.gateway;
  assertEquals(running.count, 0);
  const [{ account_id: accountId } = {}] = await usageRecords(gateway);
  const { records } = await searchRecords(database, { accountId: String(accountId), limit: 20 });
  assertEquals(records.length, 10);
  await assertLedgerClean(gateway);
});

Deno.test("text that is no Unicode does not reach the database as it is", async () => {
  await using gateway = await startGateway();
  const { database } = gateway.gateway;
  await database.batch([{ sql: "create table echoes (item text, text text) strict" }]);
  const seen = await database.write({
    name: "echo",
    key: "id",
    statements: ["insert into echoes select value ->> 'id', value ->> 'text' from json_each(?1)"],
    outcomes: `select json_group_array(json_object('id', item, 'text', text))
      from json_each(?1) join echoes on item = value`,
    read: (row) => row?.text,
  }, { id: "key", text: "half \ud83d and \\ud83d" });
  assertEquals(seen, "half \ufffd and \\ud83d");
});

for (
  const [where, content] of Object.entries({
    "a document": [{ type: "document", source: { type: "content", content: [IMAGE] } }],
    "a document of a result": [{
      type: "tool_result",
      tool_use_id: "t",
      content: [{ type: "document", source: { type: "content", content: [PIXEL] } }],
    }],
    "a search result": [{ type: "search_result", source: "s", title: "t", content: [IMAGE] }],
    "a document that is one": [{ type: "document", source: { ...PIXEL.source } }],
  })
) {
  Deno.test(`an image in ${where} meets the rules for images`, async () => {
    await using upstream = fakeUpstream(() => completion("seen"));
    await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
    const reply = await gateway.post("/v1/messages", {
      model: "svc-k2",
      max_tokens: 9,
      messages: [{ role: "user", content }],
    });
    const { error } = await reply.json();
    assertEquals([reply.status, upstream.received.length], [400, 0]);
    assertStringIncludes(error.message, "image");
  });
}

Deno.test("what an upstream says with its 200 tells neither its address nor its key", async () => {
  const secret = "upstream-secret-0123456789";
  const error = (url: string) => ({
    error: {
      code: "context_length_exceeded",
      message: `maximum context length is 8192 tokens, you sent 9000 to ${url} with ${secret}`,
    },
  });
  await using upstream: ReturnType<typeof fakeUpstream> = fakeUpstream(({ body }) =>
    body.stream
      ? eventStream(sse(chunk({ content: "hi" }), JSON.stringify(error(upstream.url))))
      : Response.json(error(upstream.url))
  );
  await using gateway = await startGateway({
    settings: { upstreams: { one: { url: upstream.url, key: secret } } },
  });
  for (const stream of [false, true]) {
    const said = await (await gateway.chat("Hi", { stream })).text();
    assertStringIncludes(said, "prompt is too long: 9000 tokens > 8192 maximum");
    assert(!said.includes(secret) && !said.includes(new URL(upstream.url).host), said);
  }
});

Deno.test("a report of more tokens than there can be is not charged by", async () => {
  await using upstream = fakeUpstream(({ body }) => {
    const usage = { prompt_tokens: 5, completion_tokens: Number.MAX_SAFE_INTEGER };
    return body.stream
      ? eventStream(sse(chunk({ content: "hi" }), chunk({}, "stop", { usage }), "[DONE]"))
      : completion("hi", { usage });
  });
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  for (const stream of [false, true]) await (await gateway.chat("Hi", { stream })).text();
  const records = await usageRecords(gateway);
  assertEquals(records.map((one) => [one.usage_source, one.charged_credits]), [
    ["counted", 1],
    ["counted", 1],
  ]);
});

Deno.test("what a stream says at its beginning of its output is no report", async () => {
  const events = [
    { type: "message_start", message: { usage: { input_tokens: 10, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    {
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: "word ".repeat(300) },
    },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" } },
    { type: "message_stop" },
  ];
  await using upstream = fakeUpstream(() =>
    eventStream(
      events.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join(""),
    )
  );
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url, dialect: "messages" } },
  });
  await (await gateway.chat("Hi", { stream: true })).text();
  const [record] = await usageRecords(gateway);
  assertEquals(record!.usage_source, "counted");
  assert(Number(record!.output_tokens) > 250, String(record!.output_tokens));
});

Deno.test("a route may be free", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: {
      upstreams: { one: { url: upstream.url } },
      routes: {
        free: {
          targets: [{ upstream: "one", model: "m" }],
          context: 8_192,
          maxOutput: 1_024,
          minimum: 0,
          prices: { input: 0, cached: 0, output: 0 },
        },
      },
    },
  });
  const reply = await gateway.chat("Hi", { model: "free" });
  assertEquals([reply.status, reply.headers.get("x-sluice-credits")], [200, "0"]);
  await reply.body?.cancel();
  await assertLedgerClean(gateway);
});
