/** When a client that waits for output is sent a ping. */

import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { EventSource } from "../../../src/requests/relay/event_source.ts";
import { ReplyReader } from "../../../src/requests/relay/reply_reader.ts";
import type { ReadyBytes } from "../../../src/requests/upstreams/mod.ts";
import { bridgeBetween } from "../../../src/wire/dialects/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { sleep } from "../../fake/temp.ts";
import { contextOf, parseMessages } from "../../wire/dialects/ends.ts";

const PING_AFTER_MS = 20;
const LIMITS = {
  bytes: 1e6,
  values: 1e5,
  streamBytes: 1e6,
  events: 1e4,
  eventValues: 1e5,
  silentBytes: 1e5,
};

Deno.test("a client without output for long is sent a ping, whatever arrives meanwhile that is no output", async () => {
  const request = parseMessages({
    model: "m",
    stream: true,
    max_tokens: 100,
    messages: [{ role: "user", content: "Hi" }],
  });
  const arrived: string[] = [];
  const body: ReadyBytes = {
    take: () => arrived.length === 0 ? null : new TextEncoder().encode(arrived.shift()),
    whenReady() {},
    read: () => Promise.resolve(undefined),
  };
  const timers = new CoarseTimers();
  const reader = new ReplyReader(
    new EventSource({ status: 200, headers: {}, body, discard() {}, drain() {} }, timers, LIMITS),
    bridgeBetween("messages", "chat").stream(contextOf(request, { createdAtS: 1 })),
    PING_AFTER_MS,
  );
  const push = (delta: object) =>
    arrived.push(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`);
  try {
    push({ role: "assistant", content: "Well" });
    assertStringIncludes(reader.take()!, "Well");
    for (let times = 0; times < 3; times++) {
      await sleep(2 * PING_AFTER_MS);
      push({});
      assertEquals(reader.take(), "", "an event without output");
      const ping = reader.take();
      assert(ping !== undefined, "a ping, though something came just now");
      assertStringIncludes(ping, "event: ping");
    }
  } finally {
    reader.close();
    timers.close();
  }
});
