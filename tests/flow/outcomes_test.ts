/** Rows of the table of outcomes that depend on who let go first. */

import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { FullSocket } from "../ends/full_socket.ts";
import { assertLedgerClean, customer } from "../fake/customer.ts";
import { startGateway, type TestGateway, unreadChat, usageRecords } from "../fake/gateway.ts";
import { RawWebSocket } from "../fake/raw_websocket.ts";
import { sleep, until } from "../fake/temp.ts";
import {
  chunk,
  completion,
  eventStream,
  fakeUpstream,
  rawServer,
  readRequest,
  sse,
} from "../fake/upstream.ts";

const encoder = new TextEncoder();
const HEAD =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const piece = (text: string) => encoder.encode(`${text.length.toString(16)}\r\n${text}\r\n`);

/** Streams without end, and gives up after 2.5 s. */
function impatientUpstream() {
  // few tokens in many bytes, so that sockets are full before any limit is reached
  const said = { ...JSON.parse(chunk({ content: "word ".repeat(20) })), pad: "x".repeat(8_000) };
  const event = piece(sse(JSON.stringify(said)));
  return rawServer(async (connection) => {
    if (await readRequest(connection) === undefined) return;
    await connection.write(encoder.encode(HEAD));
    const patience = setTimeout(() => connection.close(), 2_500);
    try {
      while (true) {
        let left = event;
        while (left.length > 0) left = left.subarray(await connection.write(left));
      }
    } catch {
      // it has given up
    } finally {
      clearTimeout(patience);
    }
  });
}

/** A stream of a new customer, of which nothing is read yet. */
async function unreadStream(gateway: TestGateway) {
  const who = await customer(gateway, 10_000);
  return await unreadChat({ ...gateway, key: who.keys[0]! }, {
    model: "svc-k3",
    stream: true,
    max_tokens: 100_000,
    messages: [{ role: "user", content: "Hi" }],
  });
}

Deno.test("a caller who stops reading pays for what it got when the stream breaks for that", async () => {
  await using upstream = impatientUpstream();
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  using connection = await unreadStream(gateway);
  await sleep(3_500);
  let got = "";
  const buffer = new Uint8Array(65_536);
  const decoder = new TextDecoder();
  for (
    let size = await connection.read(buffer);
    size !== null;
    size = await connection.read(buffer)
  ) {
    got += decoder.decode(buffer.subarray(0, size), { stream: true });
    if (got.includes('"error"') || got.includes("[DONE]")) break;
  }
  await until(() => gateway.gateway.inFlight.count === 0);
  const words = got.split("word").length - 1;
  assert(words > 1_000, `${words} words`);
  const [record] = await usageRecords(gateway);
  assertEquals([record!.ending, record!.usage_source], ["client_left", "counted"]);
  const paidTokens = Number(record!.output_tokens);
  assert(paidTokens >= 0.6 * words, `${words} words, ${paidTokens} tokens paid`);
  await assertLedgerClean(gateway);
});

Deno.test("a caller who stops reading a WebSocket pays for what it got when the stream breaks for that", async () => {
  const event = piece(sse(chunk({ content: "x".repeat(10_000) })));
  const gaveUp = Promise.withResolvers<void>();
  await using upstream = rawServer(async (connection) => {
    if (await readRequest(connection) === undefined) return;
    await connection.write(encoder.encode(HEAD));
    let patience: ReturnType<typeof setTimeout> | undefined;
    try {
      while (true) {
        patience = setTimeout(() => {
          connection.close();
          gaveUp.resolve(); // on Deno 2.4 a write that waits goes on waiting
        }, 5_000);
        let left = event;
        while (left.length > 0) left = left.subarray(await connection.write(left));
        clearTimeout(patience);
      }
    } catch {
      clearTimeout(patience);
    }
  });
  const targets = [{ upstream: "default", model: "m" }];
  await using gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url },
      routes: { big: { targets, context: 1e9, maxOutput: 9e8 } },
    },
  });
  const { keys: [key] } = await customer(gateway, 1_000_000);
  await using socket = await RawWebSocket.connect(`${gateway.url}/v1/responses`, {
    authorization: `Bearer ${key}`,
  });
  await socket.send({ type: "response.create", model: "big", input: "Hi" });
  await gaveUp.promise;
  for (let type = ""; type !== "response.failed";) {
    const frame = await socket.next();
    assert(frame !== undefined, "the turn ends with an error");
    type = String(frame.type);
  }
  await until(() => gateway.gateway.inFlight.count === 0);
  const [record] = await usageRecords(gateway);
  assertEquals([record!.ending, record!.usage_source], ["client_left", "counted"]);
  assert(Number(record!.output_tokens) > 10_000, `${record!.output_tokens} tokens paid`);
  await assertLedgerClean(gateway);
});

Deno.test("a caller who reads steadily, but slowly, pays for what it got when its upstream gives up", async () => {
  await using upstream = impatientUpstream();
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  using connection = await unreadStream(gateway);
  const buffer = new Uint8Array(65_536);
  const decoder = new TextDecoder();
  let got = "";
  // never longer than a moment without reading
  for (let size: number | null = 0; size !== null; size = await connection.read(buffer)) {
    got += decoder.decode(buffer.subarray(0, size), { stream: true });
    if (got.includes('"error"') || got.includes("[DONE]")) break;
    await sleep(30);
  }
  await until(() => gateway.gateway.inFlight.count === 0);
  const words = got.split("word").length - 1;
  assert(words > 200, `${words} words`);
  const [record] = await usageRecords(gateway);
  assertEquals([record!.ending, record!.usage_source], ["client_left", "counted"]);
  assert(Number(record!.output_tokens) >= 0.6 * words, `${words} words`);
  await assertLedgerClean(gateway);
});

Deno.test("a caller who reads a WebSocket steadily, but slowly, pays for what it got when its upstream gives up", async () => {
  const [words, paceMs, pauseMs] = [30, 30, 200];
  await using upstream = rawServer(async (connection) => {
    if (await readRequest(connection) === undefined) return;
    await connection.write(encoder.encode(HEAD));
    for (let at = 0; at < words; at++) {
      await connection.write(piece(sse(chunk({ content: " word" }))));
      await sleep(paceMs);
    }
  });
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url } },
    looksInside: true,
  });
  const { keys: [key] } = await customer(gateway, 10_000);
  const socket = new FullSocket(gateway, {
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  });
  await socket.send({ type: "response.create", model: "svc-k3", input: "Hi" });
  let [got, last] = [0, ""];
  while (last !== "response.failed") {
    const frame = await socket.next();
    last = String(frame!.type);
    if (last === "response.output_text.delta") got += String(frame!.delta).split("word").length - 1;
    if (socket.isRead) await sleep(pauseMs);
  }
  socket.drop();
  await until(() => gateway.gateway.inFlight.count === 0);
  assertEquals(got, words);
  const [record] = await usageRecords(gateway);
  assertEquals([record!.ending, record!.reason], ["client_left", "client_slow"]);
  assert(Number(record!.output_tokens) >= 0.6 * words, `${record!.output_tokens} tokens paid`);
  await assertLedgerClean(gateway);
});

const TAILS: Readonly<Record<string, string>> = {
  "nothing": "",
  "half an event": 'data: {"id":"x","cho',
  "an event that is not JSON": "data: nonsense\n\n",
  "an error": 'data: {"error":{"message":"overloaded"}}\n\n',
};

Deno.test("a whole answer that is followed by a break is paid, whatever comes in between", async (t) => {
  let usage: Record<string, number> | undefined;
  let text = "";
  await using upstream = rawServer(async (connection) => {
    if (await readRequest(connection) === undefined) return;
    await connection.write(encoder.encode(HEAD));
    const last = JSON.stringify({ ...JSON.parse(chunk({}, "stop")), ...(usage && { usage }) });
    for (const event of [chunk({ content: "one two three" }), last]) {
      await connection.write(piece(sse(event)));
    }
    await sleep(50);
    if (text !== "") await connection.write(piece(text));
    await sleep(50);
  });
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  let answers = 0;
  for (const [tail, own] of Object.entries(TAILS)) {
    for (const reported of [false, true]) {
      // connections of the gateway outlive a step
      const [sanitizeOps, sanitizeResources] = [false, false];
      const name = `${tail}, ${reported ? "as reported" : "as counted"}`;
      const fn = async () => {
        text = own;
        usage = reported
          ? { prompt_tokens: 700, completion_tokens: 300, total_tokens: 1_000 }
          : undefined;
        const reply = await (await gateway.chat("Hi", { stream: true })).text();
        assertStringIncludes(reply, "one two three");
        assert(reply.trimEnd().endsWith("data: [DONE]"), reply);
        const records = await usageRecords(gateway);
        assertEquals(records.length, ++answers);
        const record = records.at(-1)!;
        assertEquals([record.ending, record.usage_source], [
          "complete",
          reported ? "upstream" : "counted",
        ]);
        if (reported) assertEquals(record.output_tokens, 300);
        await assertLedgerClean(gateway);
      };
      await t.step({ name, fn, sanitizeOps, sanitizeResources });
    }
  }
});

const BLAMED: readonly { dialect: "chat" | "messages" | "responses"; error: unknown }[] = [
  { dialect: "chat", error: { error: { message: "x", code: "content_filter" } } },
  { dialect: "chat", error: { error: { message: "x", code: 400 } } },
  { dialect: "chat", error: { error: { message: "x", code: "tool_use_failed" } } },
  // a call that cannot be read, of a tool that was not offered, of too many: a prompt may ask for it
  ...["MALFORMED_FUNCTION_CALL", "unexpected_tool_call", "TOO_MANY_TOOL_CALLS"].map((reason) => ({
    dialect: "chat" as const,
    error: JSON.parse(chunk({}, reason)),
  })),
  {
    dialect: "messages",
    error: { type: "message_delta", delta: { stop_reason: "malformed_function_call" } },
  },
  {
    dialect: "messages",
    error: { type: "error", error: { type: "invalid_request_error", message: "x" } },
  },
  {
    dialect: "responses",
    error: {
      type: "response.failed",
      response: { status: "failed", output: [], error: { code: "invalid_prompt", message: "x" } },
    },
  },
];

Deno.test("an error in mid-stream that blames the request makes nothing free", async (t) => {
  const words = "word ".repeat(100);
  const said: Record<(typeof BLAMED)[number]["dialect"], unknown[]> = {
    chat: [JSON.parse(chunk({ content: words }))],
    messages: [
      { type: "message_start", message: { type: "message", role: "assistant", content: [] } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: words } },
    ],
    responses: [{ type: "response.output_text.delta", content_index: 0, delta: words }],
  };
  let events: unknown[] = [];
  await using upstream = fakeUpstream(() =>
    eventStream(sse(...events.map((event) => JSON.stringify(event))))
  );
  await using gateway = await startGateway();
  for (const [at, { dialect, error }] of BLAMED.entries()) {
    await t.step({
      name: JSON.stringify(error),
      // connections of the gateway outlive a step
      sanitizeOps: false,
      sanitizeResources: false,
      async fn() {
        // each has an upstream of its own, and with it a health of its own
        const upstreams = { [`upstream${at}`]: { url: upstream.url, dialect } };
        assertEquals((await gateway.reload({ upstreams })).fault, null);
        events = [...said[dialect], error];
        const text = await (await gateway.chat("Hi", { stream: true })).text();
        assertStringIncludes(text, "upstream_unavailable");
        const records = await usageRecords(gateway);
        assertEquals(records.length, at + 1);
        const record = records.at(-1)!;
        assertEquals([record.ending, record.usage_source], ["upstream_failed", "counted"]);
        assert(Number(record.output_tokens) >= 60, `${record.output_tokens}`);
        await assertLedgerClean(gateway);
      },
    });
  }
});

for (const [maxTokens, most] of [[1, 65], [100, 164], [1_000, 1_250]] as const) {
  Deno.test(`an upstream that goes beyond max_tokens ${maxTokens} is cut off, and what was got is paid`, async () => {
    await using upstream = fakeUpstream(() =>
      eventStream(
        sse(
          ...Array.from({ length: 4_000 }, () => chunk({ content: "word " })),
          chunk({}, "stop"),
          "[DONE]",
        ),
      )
    );
    await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
    const reply = await (await gateway.chat("Hi", { stream: true, max_tokens: maxTokens })).text();
    const words = reply.split("word").length - 1;
    assert(words >= maxTokens && words <= 2 * most, `${words} words`);
    assertStringIncludes(reply, '"finish_reason":"length"');
    const [record] = await usageRecords(gateway);
    const paid = Number(record!.output_tokens);
    assert(
      paid >= Math.min(0.6 * words, most) && paid <= most,
      `${words} words, ${paid} tokens paid`,
    );
    await assertLedgerClean(gateway);
  });
}

Deno.test("an upstream that ignores n is asked again for the choices that are missing", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const reply = await (await gateway.chat("Hi", { n: 3 })).json();
  assertEquals(reply.choices.map(({ index }: { index: number }) => index), [0, 1, 2]);
  assertEquals(upstream.received.length, 3);
  await assertLedgerClean(gateway);
});

Deno.test("a stream of several choices may be as long as all of them together", async () => {
  const both = (delta: object, finish_reason: string | null = null) =>
    [0, 1].map((index) => chunk(null, null, { choices: [{ index, delta, finish_reason }] }));
  const words = Array.from({ length: 90 }, () => both({ content: "word " })).flat();
  await using upstream = fakeUpstream(() =>
    eventStream(sse(...words, ...both({}, "stop"), "[DONE]"))
  );
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const text = await (await gateway.chat("Hi", { n: 2, stream: true, max_tokens: 100 })).text();
  assertEquals(text.split("word").length - 1, 180);
  assert(!text.includes('"length"'));
  assertEquals(upstream.received.length, 1);
  await assertLedgerClean(gateway);
});

Deno.test("an upstream whose stream ignores n is asked for each choice on its own from then on", async () => {
  await using upstream = fakeUpstream(() =>
    eventStream(sse(chunk({ content: "ok" }), chunk({}, "stop"), "[DONE]"))
  );
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const ask = async () => await (await gateway.chat("Hi", { n: 3, stream: true })).text();
  for (const _ of ["it shows", "it is known"]) {
    const text = await ask();
    for (const index of [0, 1, 2]) assertStringIncludes(text, `"index":${index}`);
  }
  assertEquals(upstream.received.map(({ body }) => body.n), [3, 1, 1, 1, 1, 1]);
  await assertLedgerClean(gateway);
});

for (const usage of [undefined, { output_tokens: 300 }]) {
  Deno.test(`messages: a connection lost behind the message_delta makes nothing free, ${usage ? "reported" : "counted"}`, async () => {
    const events = [
      {
        type: "message_start",
        message: {
          id: "m",
          type: "message",
          role: "assistant",
          content: [],
          model: "m",
          usage: { input_tokens: 5, output_tokens: 0 },
        },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text: "one two three" },
      },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, ...(usage && { usage }) },
    ];
    await using upstream = rawServer(async (connection) => {
      if (await readRequest(connection) === undefined) return;
      await connection.write(encoder.encode(HEAD));
      for (const event of events) {
        await connection.write(piece(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`));
      }
      await sleep(50);
    });
    await using gateway = await startGateway({
      settings: { upstream: { url: upstream.url, dialect: "messages" } },
    });
    const reply = await gateway.post("/v1/messages", {
      model: "svc-k2",
      max_tokens: 500,
      stream: true,
      messages: [{ role: "user", content: "Hi" }],
    });
    const text = await reply.text();
    assertStringIncludes(text, "message_stop");
    const [record] = await usageRecords(gateway);
    assertEquals(record!.ending, "complete");
    if (usage) assertEquals([record!.output_tokens, record!.usage_source], [300, "upstream"]);
    else assert(Number(record!.output_tokens) >= 3);
    assert(Number(record!.charged_credits) > 0);
    await assertLedgerClean(gateway);
  });
}
