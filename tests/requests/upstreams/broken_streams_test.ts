/** Streams that break off after they have begun: when their target is rested, and when that is the client's doing. */

import { Circuit } from "../../../src/requests/upstreams/circuit.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway, type TestGateway, unreadChat } from "../../fake/gateway.ts";
import { DEADLINE_MS, until } from "../../fake/temp.ts";
import {
  chunk,
  eventStream,
  fakeUpstream,
  rawServer,
  readRequest,
  sse,
} from "../../fake/upstream.ts";

const encoder = new TextEncoder();
const HEAD =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const framed = (text: string) => encoder.encode(`${text.length.toString(16)}\r\n${text}\r\n`);
const BEGUN = sse(chunk({ content: "well begun" }));
const WHOLE = sse(chunk({ content: "Hi" }), chunk({}, "stop"), "[DONE]");

function settingsOf(first: string, second: string, streamMs = DEADLINE_MS) {
  return {
    upstreams: { a: { url: first, timeouts: { streamMs } }, b: { url: second } },
    routes: {
      r: { targets: [{ upstream: "a", model: "x" }, { upstream: "b", model: "x" }] },
    },
  };
}

async function stream(gateway: TestGateway, more: object = {}, onText = () => {}) {
  const reply = await gateway.chat("Hi", { model: "r", stream: true, ...more });
  let text = "";
  for await (const piece of reply.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    onText();
  }
  return { from: reply.headers.get("x-sluice-upstream"), text };
}

/** An upstream whose streams begin, then do this once the client has what they begin with. */
function beginning(next: (connection: Deno.TcpConn) => Promise<void>) {
  let delivered = Promise.withResolvers<void>();
  const server = rawServer(async (connection) => {
    if (await readRequest(connection) === undefined) return;
    delivered = Promise.withResolvers();
    await connection.write(encoder.encode(HEAD + new TextDecoder().decode(framed(BEGUN))));
    await delivered.promise;
    await next(connection);
  });
  return {
    url: server.url,
    delivered: () => delivered.resolve(),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const BREAKS: Readonly<Record<string, (connection: Deno.TcpConn) => Promise<void>>> = {
  "loses its connection": () => Promise.resolve(),
  "ends without a finish reason": async (connection) => {
    await connection.write(encoder.encode("0\r\n\r\n"));
  },
  "falls silent": async (connection) => {
    await connection.read(new Uint8Array(1)).catch(() => {});
  },
};

for (const [what, next] of Object.entries(BREAKS)) {
  Deno.test(`a target of which every stream ${what} is rested after five`, async () => {
    const startMs = Date.now();
    let passedMs = 0; // a slow machine would wait for the target's rest to end
    await using broken = beginning(next);
    await using good = fakeUpstream(() => eventStream(WHOLE));
    await using gateway = await startGateway({
      now: () => startMs + passedMs,
      settings: settingsOf(broken.url, good.url, what === "falls silent" ? 500 : DEADLINE_MS),
    });
    const streamed = () => stream(gateway, {}, broken.delivered);
    for (let times = 0; times < 5; times++) {
      const { from, text } = await streamed();
      assertEquals(from, "a");
      assertStringIncludes(text, "upstream_unavailable");
    }
    for (let times = 0; times < 3; times++) assertEquals((await streamed()).from, "b");
    // the probe begins as well, and breaks off: it is rested at once, for longer
    passedMs = 6_000;
    assertEquals((await streamed()).from, "a");
    assertEquals((await streamed()).from, "b");
    passedMs = 13_000;
    assertEquals((await streamed()).from, "b", "twice as long");
    passedMs = 18_500;
    assertEquals((await streamed()).from, "a");
  });
}

Deno.test("a complete stream in between: no target is rested for a stream that breaks now and then", async () => {
  let count = 0;
  await using flaky = fakeUpstream(() => eventStream(++count % 5 === 0 ? WHOLE : BEGUN));
  await using good = fakeUpstream(() => eventStream(WHOLE));
  await using gateway = await startGateway({ settings: settingsOf(flaky.url, good.url) });
  for (let times = 0; times < 20; times++) assertEquals((await stream(gateway)).from, "a");
});

Deno.test("breaks that may be caused by the client do not rest a target", async () => {
  const deeds: Readonly<Record<string, () => Response>> = {
    reported: () => eventStream(BEGUN, sse('{"error":{"message":"content policy"}}')),
    invalid: () => eventStream(BEGUN, "data: nonsense\n\n"),
    whole: () => eventStream(WHOLE),
    endless: () => eventStream(...Array.from({ length: 500 }, () => sse(chunk({ content: "x " })))),
    begun: () => eventStream(BEGUN),
  };
  let deed = "whole";
  await using first = fakeUpstream(() => deeds[deed]!());
  await using second = fakeUpstream(() => eventStream(WHOLE));
  await using gateway = await startGateway({ settings: settingsOf(first.url, second.url) });
  const isRested = async () => {
    const before = deed;
    deed = "reported"; // a complete stream would end the row of broken ones
    const { from } = await stream(gateway);
    deed = before;
    return from !== "a";
  };
  for (deed of ["reported", "invalid"]) {
    for (let times = 0; times < 7; times++) {
      const { from, text } = await stream(gateway);
      assertEquals(from, "a", deed);
      assertStringIncludes(text, '"error"');
    }
  }
  // n: an upstream that ignores it may end before all choices are there
  deed = "begun";
  for (let times = 0; times < 7; times++) await stream(gateway, { n: 2 });
  assert(!await isRested(), "n");
  // disconnects, before and after output
  deed = "endless";
  for (let times = 0; times < 7; times++) {
    const { body } = await gateway.chat("Hi", { model: "r", stream: true, max_tokens: 4_000 });
    const reader = body!.getReader();
    if (times % 2 === 0) await reader.read();
    await reader.cancel();
  }
  await until(() => gateway.gateway.inFlight.count === 0);
  assert(!await isRested(), "disconnects");
});

Deno.test("a break that is caused by the client's slow reading does not rest a target", async () => {
  const event = sse(JSON.stringify({
    ...JSON.parse(chunk({ content: "word ".repeat(20) })),
    pad: "x".repeat(8_000),
  }));
  // breaks what is not read, as servers do
  let broken = 0;
  await using first = rawServer(async (connection) => {
    if (await readRequest(connection) === undefined) return;
    await connection.write(encoder.encode(HEAD));
    let looks = 0;
    const patience = setInterval(() => {
      if (++looks < 25) return; // so often it could have gone on since
      clearInterval(patience);
      connection.close();
      broken++;
    }, 100);
    try {
      while (true) {
        let left = framed(event);
        while (left.length > 0) left = left.subarray(await connection.write(left));
        looks = 0;
      }
    } finally {
      clearInterval(patience);
    }
  });
  await using second = fakeUpstream(() => eventStream(WHOLE));
  await using gateway = await startGateway({ settings: settingsOf(first.url, second.url) });
  const streams = 6;
  const slow = async () => {
    using connection = await unreadChat(gateway, {
      model: "r",
      stream: true,
      max_tokens: 100_000,
      messages: [{ role: "user", content: "Hi" }],
    });
    await until(() => broken === streams, { what: "the upstream's breaks" });
    const buffer = new Uint8Array(65_536);
    let tail = "";
    while (!tail.includes('"error"') && !tail.includes("[DONE]")) {
      const size = await connection.read(buffer);
      if (size === null) break;
      tail = tail.slice(-1_000) + new TextDecoder().decode(buffer.subarray(0, size));
    }
  };
  await Promise.all(Array.from({ length: streams }, slow));
  await until(() => gateway.gateway.inFlight.count === 0);
  const { from } = await gateway.chat("Hi", { model: "r", stream: true, max_tokens: 5 })
    .then(async (reply) => {
      await reply.body?.cancel();
      return { from: reply.headers.get("x-sluice-upstream") };
    });
  assertEquals(from, "a");
});

Deno.test("a circuit that broken streams open stays open for longer each time, up to a minute", () => {
  let nowMs = 1_000_000;
  const circuit = new Circuit(() => nowMs, { firstCooldownMs: 5_000, maxCooldownMs: 60_000 });
  const cooldowns: number[] = [];
  for (let at = 0; at < 4; at++) circuit.streamBroke();
  assert(!circuit.isOpen);
  for (let round = 0; round < 6; round++) {
    circuit.streamBroke();
    assert(circuit.isOpen);
    circuit.streamBroke(); // those that began before it opened
    cooldowns.push(circuit.openUntilMs - nowMs);
    nowMs = circuit.openUntilMs;
    circuit.pass()!.succeeded(); // the probe's stream begins
    assert(!circuit.isOpen);
  }
  const wanted = [5, 10, 20, 40, 60, 60].map((seconds) => seconds * 1_000);
  cooldowns.forEach((ms, at) => assert(ms >= wanted[at]! && ms <= 1.15 * wanted[at]!, `${ms}`));
  circuit.streamCompleted();
  for (let at = 0; at < 4; at++) circuit.streamBroke();
  assert(!circuit.isOpen);
  circuit.streamBroke();
  assert(circuit.openUntilMs - nowMs < 6_000, "it begins again");
});
