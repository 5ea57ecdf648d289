/** Each bound of what an upstream may send, with small figures. */

import type { SettingsInput } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { checkResponsesStream } from "../../wire/dialects/legal_responses_stream.ts";
import { eventsFor, linesOf } from "../../wire/dialects/responses_streams.ts";
import { assertLedgerClean, customer } from "../../fake/customer.ts";
import { startGateway } from "../../fake/gateway.ts";
import { inTime } from "../../fake/temp.ts";
import {
  chunk,
  completion,
  eventStream,
  fakeUpstream,
  pacedStream,
  rawServer,
  readRequest,
  sse,
} from "../../fake/upstream.ts";

const begin = sse(chunk({ role: "assistant", content: "begun " }));
const end = sse(chunk({}, "stop"), "[DONE]");
const words = (count: number) => Array.from({ length: count }, () => sse(chunk({ content: "a " })));
const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;

/** What is just within a bound, and what is beyond it. */
const STREAMS: Readonly<
  Record<string, {
    readonly replies?: SettingsInput["replies"];
    readonly within: readonly string[];
    readonly beyond: readonly string[];
    readonly says: string;
  }>
> = {
  "events": {
    replies: { events: 10 },
    within: words(6),
    beyond: words(12),
    says: "more than 10 events",
  },
  "streamBytes": {
    replies: { streamBytes: 5_000 },
    within: words(5),
    beyond: words(50),
    says: "more than 5000 bytes",
  },
  "silentBytes": {
    replies: { silentBytes: 2_000 },
    within: [`: ${"a".repeat(1_900)}\n\n`, ...words(1), `: ${"a".repeat(1_900)}\n\n`],
    beyond: Array.from({ length: 8 }, () => `: ${"a".repeat(500)}\n\n`),
    says: "2000 bytes without an event",
  },
  "eventValues": {
    replies: { eventValues: 300 },
    within: [sse(`{"choices":[],"unknown":[${"0,".repeat(250)}0]}`)],
    beyond: [sse(`{"choices":[],"unknown":[${"0,".repeat(350)}0]}`)],
    says: "too many JSON values",
  },
  "the depth of an event": {
    within: [sse(`{"choices":[],"unknown":[${"0,".repeat(300)}${nested(150)}]}`)],
    beyond: [sse(`{"choices":[],"unknown":[${"0,".repeat(300)}${nested(250)}]}`)],
    says: "nested too deeply",
  },
  "the choices of a chunk": {
    within: [sse(`{"choices":[${Array(128).fill('{"index":1,"delta":{}}')}]}`)],
    beyond: [sse(`{"choices":[${Array(129).fill('{"index":1,"delta":{}}')}]}`)],
    says: "more than 128 choices",
  },
};

for (const [bound, { replies, within, beyond, says }] of Object.entries(STREAMS)) {
  Deno.test(`a stream has a bound: ${bound}`, async () => {
    let pieces = within;
    await using upstream = fakeUpstream(() => pacedStream(10, [begin, ...pieces, end]));
    await using gateway = await startGateway({
      settings: { upstream: { url: upstream.url }, ...(replies && { replies }) },
    });
    const ask = async () => await (await gateway.chat("Hi", { stream: true })).text();
    const good = await ask();
    assert(good.includes("begun") && good.includes("[DONE]"), good.slice(-300));
    pieces = beyond;
    const bad = await ask(); // an event at the end, or a status if it came with the first bytes
    assertStringIncludes(bad, "upstream_unavailable");
    assertStringIncludes(bad, says);
    await assertLedgerClean(gateway);
  });
}

Deno.test("an event may be megabytes long: a response repeats its instructions, and whole ones all of it", async () => {
  const instructions = "word ".repeat(1_200_000);
  const events = eventsFor([{ text: ["Hello"] }], { instructions });
  await using upstream = fakeUpstream(() => eventStream(linesOf(events)));
  await using gateway = await startGateway({
    settings: {
      upstreams: { one: { url: upstream.url, dialect: "responses" } },
      routes: { m: { targets: [{ upstream: "one", model: "m" }], context: 2_000_000 } },
    },
  });
  const { keys: [key] } = await customer(gateway, 10_000);
  const request = { model: "m", instructions, input: "Hi", stream: true };
  const reply = await gateway.post("/v1/responses", request, { key: key! });
  const { output } = checkResponsesStream(await reply.text());
  assertEquals(output[0].content[0].text, "Hello");
  await assertLedgerClean(gateway);
});

Deno.test("a whole reply has a bound of values and of choices", async () => {
  let more: Record<string, unknown> = {};
  await using upstream = fakeUpstream(() => completion("ok", more));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, replies: { values: 2_000 } },
  });
  const choice = { index: 1, message: { role: "assistant", content: "ok" }, finish_reason: "stop" };
  const ask = async (fields: Record<string, unknown>) => {
    more = fields;
    const reply = await gateway.chat("Hi");
    return `${reply.status} ${(await reply.json()).error?.message ?? ""}`;
  };
  assertEquals(await ask({ unknown: Array(1_800).fill(0) }), "200 ");
  assertStringIncludes(await ask({ unknown: Array(2_100).fill(0) }), "too many JSON values");
  assertEquals(await ask({ choices: Array(128).fill(choice) }), "200 ");
  assertStringIncludes(await ask({ choices: Array(129).fill(choice) }), "more than 128 choices");
  assertEquals((await ask({ choices: [{ ...choice, index: 4_000 }] })).slice(0, 3), "503");
});

Deno.test("a reply has a bound of interim responses", async () => {
  let interim = 20;
  const body = await completion("ok").text();
  await using upstream = rawServer(async (connection) => {
    while (await readRequest(connection) !== undefined) {
      const text = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(interim) +
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n` +
        body;
      await connection.write(new TextEncoder().encode(text));
    }
  });
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const ask = async () => {
    const reply = await gateway.chat("Hi");
    await reply.body?.cancel();
    return reply.status;
  };
  assertEquals(await ask(), 200);
  interim = 40;
  assertEquals(await ask(), 503);
});

for (const stream of [false, true]) {
  Deno.test(`a reply has a bound of time: timeouts.totalMs (stream: ${stream})`, async () => {
    let sent = 0;
    await using upstream = rawServer(async (connection) => {
      if (await readRequest(connection) === undefined) return;
      const type = stream ? "text/event-stream" : "application/json";
      const encoder = new TextEncoder();
      await connection.write(
        encoder.encode(
          `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: 9999999\r\n\r\n`,
        ),
      );
      let gone = false;
      connection.read(new Uint8Array(1)).then(() => gone = true, () => gone = true);
      for (; sent < 600 && !gone; sent++) {
        await connection.write(encoder.encode(stream ? sse(chunk({ content: "a" })) : " "));
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    });
    await using gateway = await startGateway({
      settings: { upstreams: { one: { url: upstream.url, timeouts: { totalMs: 500 } } } },
    });
    const text = gateway.chat("Hi", { stream }).then((reply) => reply.text());
    assertEquals(await inTime(text, 400, "waits"), "waits");
    assertStringIncludes(await text, "upstream_unavailable");
    assert(sent < 600, "the upstream has gone on to its end");
    await assertLedgerClean(gateway);
  });
}
