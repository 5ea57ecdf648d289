/** A first target that hangs, resets or refuses, before a healthy second one: who waits, and who asks it. */

import type { SettingsInput } from "../../../src/settings/config/mod.ts";
import { loadConfig } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { startGateway, statusOf, type TestGateway } from "../../fake/gateway.ts";
import { DEADLINE_MS, inTime, sleep, tempDir, until } from "../../fake/temp.ts";
import { completion, fakeUpstream, rawServer, readRequest } from "../../fake/upstream.ts";
import { sized } from "../../tier.ts";

/** Longer than any rest. */
const AFTER_REST_MS = 61_000;
const HEADERS_MS = 300;
const AT_ONCE = sized(25, 50);

const COMPLETION = await completion("well").text();

/** How a target behaves on a connection that asks it. */
type Behaviour = "hang" | "reset" | "answer";

/** A target whose behaviour changes; counts the requests that reach it. */
function target(initial: Behaviour) {
  const one = { behaviour: initial, asked: 0 };
  const server = rawServer(async (connection) => {
    while (true) {
      if (one.behaviour === "reset") {
        if (await connection.read(new Uint8Array(1)) !== null) one.asked++;
        return; // closed with bytes unread, which resets it
      }
      if (await readRequest(connection) === undefined) return;
      one.asked++;
      if (one.behaviour === "hang") {
        await connection.read(new Uint8Array(1));
        return;
      }
      const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n" +
        `content-length: ${COMPLETION.length}\r\n\r\n`;
      await connection.write(new TextEncoder().encode(head + COMPLETION));
    }
  });
  return Object.assign(one, {
    url: server.url,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  });
}

/** The address of a port that nobody listens on. */
function closedPort(): string {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return `http://127.0.0.1:${port}/v1`;
}

/** Who waits for more than the headers' timeout is never served. */
const TIMEOUTS = { connectMs: DEADLINE_MS, readMs: 10 * DEADLINE_MS, headersMs: HEADERS_MS };

function twoTargets(first: string, second: string, headersMs = HEADERS_MS): SettingsInput {
  const timeouts = { ...TIMEOUTS, headersMs };
  return {
    upstreams: { first: { url: first, timeouts }, second: { url: second, timeouts } },
    routes: {
      "svc-k2": {
        targets: [{ upstream: "first", model: "m1" }, { upstream: "second", model: "m2" }],
      },
    },
  } as SettingsInput;
}

/** Asks so often at once; answers how many were not answered 200, and fails if some are never answered. */
async function errorsOf(gateway: TestGateway, times: number): Promise<number> {
  const all = Promise.all(Array.from({ length: times }, () => statusOf(gateway.chat("Hi"))));
  const statuses = await inTime(all, DEADLINE_MS, undefined);
  assert(statuses !== undefined, "some wait for a target that hangs");
  return statuses.filter((status) => status !== 200).length;
}

const ROWS: readonly {
  readonly first: Behaviour | "refuse";
  /** Requests until it must be known. */
  readonly detectedAfter: number;
  /** What was sent and reset may have been worked on, so it is not sent again. */
  readonly mayLose: number;
}[] = [
  { first: "hang", detectedAfter: 1, mayLose: 0 },
  { first: "refuse", detectedAfter: 5, mayLose: 0 },
  { first: "reset", detectedAfter: 5, mayLose: 1 },
];

for (const { first: kind, detectedAfter, mayLose } of ROWS) {
  Deno.test(`a first target that does ${kind}: once it is known, at most one request per rest is put to it`, async () => {
    let skewMs = 0;
    await using first = target(kind === "refuse" ? "answer" : kind);
    await using second = fakeUpstream(() => completion("ok"));
    await using gateway = await startGateway({
      settings: twoTargets(kind === "refuse" ? closedPort() : first.url, second.url),
      now: () => Date.now() + skewMs,
    });
    for (let times = 0; times < detectedAfter; times++) {
      const errors = await errorsOf(gateway, 1);
      if (mayLose === 0) {
        assertEquals(errors, 0, "the request that finds out goes on to the second");
      }
    }
    const round = async (what: string, most: number) => {
      const before = first.asked;
      const errors = await errorsOf(gateway, AT_ONCE);
      assert(errors <= Math.min(most, mayLose), `${what}: ${errors} of ${AT_ONCE} failed`);
      const asked = first.asked - before;
      assert(asked <= most, `${what}: ${asked} of ${AT_ONCE} were put to the first target`);
    };
    await round("known", 0);
    for (let rest = 0; rest < sized(2, 3); rest++) {
      skewMs += AFTER_REST_MS;
      await round("after the rest", 1);
      await round("resting again", 0);
    }
  });
}

Deno.test("a first target that hangs while many ask it at once: each goes on to the second", async () => {
  await using first = target("hang");
  await using second = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({ settings: twoTargets(first.url, second.url) });
  assertEquals(await errorsOf(gateway, AT_ONCE), 0);
});

Deno.test("while the probe waits others go elsewhere; one that is answered brings the traffic back", async () => {
  let skewMs = 0;
  await using first = target("hang");
  await using second = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: twoTargets(first.url, second.url, 2_000), // the first one answers later on, on a busy machine
    now: () => Date.now() + skewMs,
  });
  const upstreamOf = async () => {
    const reply = await gateway.chat("Hi");
    await reply.body?.cancel();
    return reply.headers.get("x-sluice-upstream");
  };
  assertEquals(await upstreamOf(), "second");
  skewMs += AFTER_REST_MS;
  const probe = upstreamOf();
  await until(() => first.asked === 2, { what: "the probe" });
  for (let times = 0; times < 5; times++) assertEquals(await upstreamOf(), "second");
  assertEquals(first.asked, 2);
  assertEquals(await probe, "second", "whose request was the probe is answered too");
  first.behaviour = "answer";
  assertEquals(await upstreamOf(), "second", "it rests again");
  skewMs += AFTER_REST_MS;
  assertEquals(await upstreamOf(), "first");
  for (let times = 0; times < 5; times++) assertEquals(await upstreamOf(), "first");
});

Deno.test("a rest after which a target fails again is longer than the one before", async () => {
  let skewMs = 0;
  await using first = fakeUpstream(() => new Response("", { status: 500 }));
  await using second = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: {
      upstreams: { first: { url: first.url }, second: { url: second.url } },
      routes: {
        "svc-k2": {
          targets: [{ upstream: "first", model: "m1" }, { upstream: "second", model: "m2" }],
        },
      },
    },
    now: () => NOON + skewMs,
  });
  for (let times = 0; times < 5; times++) await errorsOf(gateway, 1);
  const rests: number[] = [];
  for (let rest = 0; rest < 6; rest++) {
    const [before, begunMs] = [first.received.length, skewMs];
    while (first.received.length === before) {
      skewMs += rest < 3 ? 1_000 : 5_000; // the first ones are compared
      assert(skewMs - begunMs < 120_000, "it is never probed");
      assertEquals(await errorsOf(gateway, 1), 0);
    }
    rests.push(skewMs - begunMs);
  }
  // a rest may differ by chance, so that not all gateways probe at once, but each is longer
  for (let at = 1; at < 3; at++) assert(rests[at]! >= 1.4 * rests[at - 1]!, rests.join(", "));
  for (const one of rests) assert(one <= 70_000, rests.join(", "));
  assert(rests[0]! <= 8_000 && rests[5]! >= 40_000, rests.join(", "));
});
const NOON = Date.UTC(2030, 0, 1, 12);

Deno.test("timeouts.headersMs is for failover: nobody else to ask, and the reply is waited for", async () => {
  await using slow = fakeUpstream(async () => {
    await sleep(3 * HEADERS_MS);
    return completion("ok");
  });
  {
    const settings = { upstreams: { only: { url: slow.url, timeouts: TIMEOUTS } } };
    await using gateway = await startGateway({ settings });
    assertEquals(await statusOf(gateway.chat("Hi")), 200);
  }
  await using gateway = await startGateway({ settings: twoTargets(closedPort(), slow.url) });
  assertEquals(await statusOf(gateway.chat("Hi")), 200, "the last of the targets");
});

Deno.test("timeouts.headersMs is a minute by default", async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/sluice.jsonc`;
  await Deno.writeTextFile(file, '{ "upstreams": { "one": { "url": "http://127.0.0.1:1/v1" } } }');
  const { settings } = await loadConfig({ env: {}, directory: dir.path, file });
  const found: Record<string, unknown> = settings.upstreams.one!.timeouts;
  assertEquals([found.headersMs, found.readMs], [60_000, 600_000]);
});
