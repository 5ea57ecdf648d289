import fc from "fast-check";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { startGateway, unreadChat, usageRecords } from "../fake/gateway.ts";
import { Random, testSeed } from "../fake/random.ts";
import { DEADLINE_MS, sleep, until } from "../fake/temp.ts";
import {
  chunk,
  eventStream,
  fakeUpstream,
  heldStream,
  rawServer,
  readRequest,
  sse,
} from "../fake/upstream.ts";
import { sized } from "../tier.ts";

const encoder = new TextEncoder();
const STREAM = sse(
  chunk({ role: "assistant", content: "" }),
  chunk({ content: "Grüße, " }),
  chunk({ content: "世界 👋🏽" }),
  chunk({}, "stop"),
  JSON.stringify({
    choices: [],
    usage: { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 },
  }),
  "[DONE]",
);

/** The events of a stream without what differs from call to call. */
function comparable(text: string): string {
  return text.replaceAll(/chatcmpl-\w+/g, "ID");
}

Deno.test("a stream is the same however the upstream's bytes are cut", async () => {
  const seed = testSeed();
  const bytes = encoder.encode(STREAM);
  let cuts: number[] = [];
  await using upstream = fakeUpstream(() => {
    const ends = [...cuts, bytes.length];
    return eventStream(...[0, ...cuts].map((start, at) => bytes.slice(start, ends[at])));
  });
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const answer = async () => comparable(await (await gateway.chat("Hi", { stream: true })).text());
  const whole = await answer();
  assertStringIncludes(whole, "世界 👋🏽");
  assert(whole.endsWith("data: [DONE]\n\n"));
  // in the gate at a sample of the bytes, others each time, and everywhere within characters of several bytes
  const every = sized(12, 1);
  const first = new Random(seed).integer(0, every - 1);
  for (let cut = 1; cut < bytes.length; cut++) {
    if (cut % every !== first && bytes[cut]! < 0x80) continue;
    cuts = [cut];
    assertEquals(await answer(), whole, `cut at ${cut}, seed ${seed}`);
  }
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.integer({ min: 1, max: bytes.length - 1 })),
      async (random) => {
        cuts = random.sort((a, b) => a - b);
        assertEquals(await answer(), whole);
      },
    ),
    { numRuns: sized(12, 40), seed },
  );
});

Deno.test("usage is asked of the upstream, and hidden from a caller who did not ask", async () => {
  await using upstream = fakeUpstream(() => eventStream(STREAM));
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const without = await (await gateway.chat("Hi", { stream: true })).text();
  assert(!without.includes("usage"), without);
  const asked = await (await gateway.chat("Hi", {
    stream: true,
    stream_options: { include_usage: true, include_obfuscation: false },
  })).text();
  assertStringIncludes(asked, '"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":4');
  assertEquals(upstream.received.map(({ body }) => body.stream_options), [
    { include_usage: true },
    { include_usage: true, include_obfuscation: false },
  ]);
});

const PLACES: Readonly<Record<string, string>> = {
  "in the last chunk with choices": sse(
    chunk({ content: "hi" }),
    chunk({}, "stop", { usage: { prompt_tokens: 5, completion_tokens: 4 } }),
    "[DONE]",
  ),
  "in choices[0].usage": sse(
    chunk({ content: "hi" }),
    JSON.stringify({
      choices: [{
        index: 0,
        delta: {},
        finish_reason: "stop",
        usage: { prompt_tokens: 5, completion_tokens: 4 },
      }],
    }),
    "[DONE]",
  ),
  "on every chunk, the last one counts": sse(
    chunk({ content: "hi" }, null, { usage: { prompt_tokens: 5, completion_tokens: 1 } }),
    chunk({}, "stop", { usage: { prompt_tokens: 5, completion_tokens: 4 } }),
    "[DONE]",
  ),
  "without [DONE]": sse(
    chunk({ content: "hi" }),
    chunk({}, "stop", { usage: { prompt_tokens: 5, completion_tokens: 4 } }),
  ),
};

for (const [place, stream] of Object.entries(PLACES)) {
  Deno.test(`usage is found ${place}`, async () => {
    await using upstream = fakeUpstream(() => eventStream(stream));
    await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
    const text = await (await gateway.chat("Hi", { stream: true })).text();
    assert(text.endsWith("data: [DONE]\n\n"), text);
    const [record] = await usageRecords(gateway);
    assertEquals(
      [record!.input_tokens, record!.output_tokens, record!.usage_source, record!.ending],
      [5, 4, "upstream", "complete"],
    );
  });
}

Deno.test("usage that was not reported is counted, and given to a caller who asked", async () => {
  await using upstream = fakeUpstream(() =>
    eventStream(sse(chunk({ content: "one two three" }), chunk({}, "stop"), "[DONE]"))
  );
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const text = await (await gateway.chat("Hi", {
    stream: true,
    stream_options: { include_usage: true },
  })).text();
  assertStringIncludes(text, '"completion_tokens":4');
  const [record] = await usageRecords(gateway);
  assertEquals([record!.output_tokens, record!.usage_source], [4, "counted"]);
});

const BROKEN: Readonly<Record<string, { pieces: string[]; says: string }>> = {
  "ends without a finish": {
    pieces: [sse(chunk({ content: "hi" }))],
    says: "closed the stream early",
  },
  "reports an error": {
    pieces: [
      sse(chunk({ content: "hi" }), '{"error":{"message":"secret sk-abcdefgh at 10.0.0.1"}}'),
    ],
    says: "failed while it was responding",
  },
  "finishes with an error (OpenRouter)": {
    pieces: [sse(chunk({ content: "hi" }), chunk({}, "error"))],
    says: "failed while it was responding",
  },
  "sends what is not JSON": {
    pieces: [sse(chunk({ content: "hi" }), "<html>oops</html>")],
    says: "invalid chat-completions stream",
  },
};

for (const [what, { pieces, says }] of Object.entries(BROKEN)) {
  Deno.test(`an upstream that ${what} in mid-stream: the last event is an error`, async () => {
    await using upstream = fakeUpstream(() => eventStream(...pieces));
    await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
    const reply = await gateway.chat("Hi", { stream: true });
    assertEquals(reply.status, 200);
    const events = (await reply.text()).trim().split("\n\n");
    assertStringIncludes(events[0]!, '"content":"hi"', "what was said before is delivered");
    const last = JSON.parse(events.at(-1)!.slice("data: ".length));
    assertEquals([last.error.code, last.error.type], ["upstream_unavailable", "api_error"]);
    assertStringIncludes(last.error.message, says);
    const [record] = await usageRecords(gateway);
    assertEquals(
      [record!.ending, record!.input_tokens, record!.output_tokens, record!.usage_source],
      ["upstream_failed", 0, 0, null],
    );
  });
}

for (const [what, sent] of [["nothing", []], ["a text", [chunk({ content: "hi" })]]] as const) {
  Deno.test(`a stream of ${what} that is done without a reason is not taken for whole`, async () => {
    await using upstream = fakeUpstream(() => eventStream(sse(...sent, "[DONE]")));
    await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
    for (const path of ["/v1/chat/completions", "/v1/messages"]) {
      const reply = await gateway.post(path, {
        model: "svc-k2",
        max_tokens: 10,
        stream: true,
        messages: [{ role: "user", content: "Hi" }],
      });
      assertEquals(reply.status, sent.length === 0 ? 503 : 200);
      assertStringIncludes(await reply.text(), "closed the stream early");
    }
    const records = await usageRecords(gateway);
    assertEquals(records.map(({ ending }) => ending), ["upstream_failed", "upstream_failed"]);
  });
}

Deno.test("an error as the first event is an HTTP status, not a stream", async () => {
  await using upstream = fakeUpstream(() =>
    eventStream(sse('{"error":{"message":"slow down","type":"rate_limit_error","code":"429"}}'))
  );
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const reply = await gateway.chat("Hi", { stream: true });
  assertEquals(reply.status, 429);
  assertEquals((await reply.json()).error.code, "rate_limit_exceeded");
});

Deno.test("a caller who leaves mid-stream: the upstream is cancelled, what was delivered is counted", async () => {
  let upstreamLeft = false;
  await using upstream = fakeUpstream(() => {
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        controller.enqueue(encoder.encode(sse(chunk({ content: `word${sent++} ` }))));
      },
      cancel() {
        upstreamLeft = true;
      },
    }, { highWaterMark: 0 });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const leave = new AbortController();
  const reply = await gateway.chat("Hi", { stream: true }, { signal: leave.signal });
  const reader = reply.body!.getReader();
  for (let reads = 0; reads < 5; reads++) await reader.read();
  leave.abort();
  await reader.closed.catch(() => {});
  await until(() => upstreamLeft, { what: "the upstream's cancellation" });
  await until(async () => (await usageRecords(gateway)).length === 1, { what: "the record" });
  const [record] = await usageRecords(gateway);
  assertEquals([record!.ending, record!.usage_source], ["client_left", "counted"]);
  assert(Number(record!.output_tokens) >= 5 && Number(record!.input_tokens) > 0);
  await until(() => gateway.gateway.inFlight.count === 0);
});

for (const stream of [false, true]) {
  Deno.test(`a caller who leaves before the first byte costs nothing (stream: ${stream})`, async () => {
    let upstreamSaw = false;
    let upstreamLeft = false;
    await using upstream = rawServer(async (connection) => {
      await readRequest(connection);
      upstreamSaw = true;
      const end = await connection.read(new Uint8Array(1)).catch(() => null);
      upstreamLeft = end === null;
    });
    await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
    const leave = new AbortController();
    const reply = gateway.chat("Hi", { stream }, { signal: leave.signal }).catch(() => {});
    await until(() => upstreamSaw);
    leave.abort();
    await reply;
    await until(() => upstreamLeft, { what: "the upstream's cancellation" });
    await until(async () => (await usageRecords(gateway)).length === 1);
    const [record] = await usageRecords(gateway);
    assertEquals([record!.ending, record!.usage_source, record!.output_tokens], [
      "client_left",
      null,
      0,
    ]);
  });
}

const SILENT = "is silent, before its first event too,";
for (
  const [path, ping, why, unseen] of [
    ["/v1/chat/completions", ": ping", SILENT, 0],
    ["/v1/messages", "event: ping", SILENT, 0],
    ["/v1/messages", "event: ping", "sends what callers never see", DEADLINE_MS / 50],
  ] as const
) {
  Deno.test(`${path}: an upstream that ${why} is covered by pings`, async () => {
    let text = "";
    const pings = (part: string) => part.split(ping).length - 1;
    const pieces = [
      ...Array.from({ length: unseen }, () => sse(chunk({ content: "" }))),
      sse(chunk({ content: "late" })),
      sse(chunk({}, "stop"), "[DONE]"),
    ];
    // the words come when the caller has read pings: were there none, they would never come
    const due = async (at: number) => {
      if (at < unseen) return pings(text) < 2 ? await sleep(50) : undefined;
      await until(
        () => at === unseen ? pings(text) >= 2 : pings(text.split("late")[1] ?? "") >= 1,
        { what: at === unseen ? "pings before the first words" : "a ping before the end" },
      );
    };
    await using upstream = fakeUpstream(() => heldStream(pieces, due));
    await using gateway = await startGateway({
      settings: { upstream: { url: upstream.url }, limits: { pingMs: 100 } },
    });
    const reply = await gateway.post(path, {
      model: "svc-k2",
      max_tokens: 10,
      stream: true,
      messages: [{ role: "user", content: "Hi" }],
    });
    for await (const piece of reply.body!.pipeThrough(new TextDecoderStream())) text += piece;
    assert(/\[DONE\]|message_stop/.test(text.split("late")[1]!), text);
  });
}

Deno.test("a reader that stops reading holds the upstream back", async () => {
  let written = 0;
  const piece = encoder.encode(sse(chunk({ content: "x".repeat(16_000) })));
  await using upstream = rawServer(async (connection) => {
    await readRequest(connection);
    const head =
      "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    await connection.write(encoder.encode(head));
    const framed = encoder.encode(
      `${piece.length.toString(16)}\r\n${new TextDecoder().decode(piece)}\r\n`,
    );
    while (true) {
      let rest = framed;
      while (rest.length > 0) rest = rest.subarray(await connection.write(rest));
      written += framed.length;
    }
  });
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const body = { model: "svc-k2", stream: true, messages: [{ role: "user", content: "Hi" }] };
  const connections: Deno.Conn[] = [];
  for (let index = 0; index < 10; index++) {
    connections.push(await unreadChat(gateway, body));
  }
  // What the sockets' buffers take flows, then nothing does.
  let before = -1;
  await until(async () => {
    const stalled = written === before && written > 0;
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return stalled && written === before;
  }, { what: "the upstream's stall" });
  for (const connection of connections) connection.close();
  await until(() => gateway.gateway.inFlight.count === 0, { what: "the streams' end" });
});
