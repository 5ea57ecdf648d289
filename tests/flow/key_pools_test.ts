/** Upstreams with several keys, over sockets: who is sent what, and what nobody sees. */

import { type SettingsInput, upstreamSettings } from "../../src/settings/config/mod.ts";
import { probeUpstream } from "../../src/requests/upstreams/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { startGateway, statusOf, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { chunk, completion, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";
import { sized } from "../tier.ts";

const KEYS = ["upstream-key-one", "upstream-key-two", "upstream-key-three"];

/** An upstream that has an answer of its own for each key; counts the requests with each. */
function keyedUpstream(answers: Record<string, () => Response> = {}) {
  const counts: Record<string, number> = {};
  const order: string[] = [];
  const upstream = fakeUpstream(({ headers, body }) => {
    const key = headers.get("authorization")?.slice("Bearer ".length) ?? "none";
    counts[key] = (counts[key] ?? 0) + 1;
    order.push(key);
    const own = answers[key]?.();
    if (own !== undefined) return own;
    if (!body.stream) return completion("well");
    return eventStream(sse(chunk({ role: "assistant", content: "well" }), chunk({}, "stop")));
  });
  return Object.assign(upstream, { counts, order, answers });
}

function error(status: number, code: string, headers: Record<string, string> = {}) {
  return () => Response.json({ error: { message: `no: ${KEYS[0]}`, code } }, { status, headers });
}

function settingsFor(url: string, keys: readonly unknown[], more: SettingsInput = {}) {
  return { upstreams: { pool: { url, keys } }, ...more } as SettingsInput;
}

async function metric(gateway: TestGateway, line: string): Promise<boolean> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  return text.split("\n").includes(line);
}

Deno.test("two keys with weights 3 and 1 share requests, one after the other and at once", async () => {
  await using upstream = keyedUpstream();
  await using gateway = await startGateway({
    settings: settingsFor(upstream.url, [{ key: KEYS[0], weight: 3 }, KEYS[1]]),
  });
  const half = sized(12, 200);
  for (let at = 0; at < half; at++) assertEquals(await statusOf(gateway.chat("Hi")), 200);
  const once = Array.from({ length: half }, () => statusOf(gateway.chat("Hi")));
  assert((await Promise.all(once)).every((status) => status === 200));
  assertEquals(upstream.counts, { [KEYS[0]!]: 1.5 * half, [KEYS[1]!]: 0.5 * half });
});

const FAULTS: readonly { what: string; answer: () => Response }[] = [
  { what: "401", answer: error(401, "invalid_api_key") },
  { what: "403", answer: error(403, "forbidden") },
  { what: "402", answer: error(402, "payment_required") },
  { what: "429 insufficient_quota", answer: error(429, "insufficient_quota") },
  {
    what: "429 with a Retry-After of a minute",
    answer: error(429, "rate_limit_exceeded", { "retry-after": "60" }),
  },
];

for (const { what, answer } of FAULTS) {
  for (const stream of [false, true]) {
    Deno.test(`a key that gets ${what}: its request and those after it use the others (stream: ${stream})`, async () => {
      await using upstream = keyedUpstream({ [KEYS[0]!]: answer });
      await using gateway = await startGateway({ settings: settingsFor(upstream.url, KEYS) });
      const times = sized(4, 30);
      for (let at = 0; at < times; at++) {
        const reply = await gateway.chat("Hi", { stream });
        assertEquals(reply.status, 200);
        await reply.text();
      }
      assertEquals(upstream.counts[KEYS[0]!], 1);
      assertEquals([upstream.counts[KEYS[1]!], upstream.counts[KEYS[2]!]], [times / 2, times / 2]);
      assert(await metric(gateway, 'sluice_upstream_key_resting{upstream="pool",key="1"} 1'));
      assert(await metric(gateway, 'sluice_upstream_key_resting{upstream="pool",key="2"} 0'));
      assert(await metric(gateway, 'sluice_upstream_resting{upstream="pool"} 0'));
      assertStringIncludes(gateway.log(), '"key":"key 1 of 3"');
      const everything = gateway.log() + JSON.stringify(await usageRecords(gateway)) +
        await (await fetch(`${gateway.url}/metrics`)).text();
      for (const key of KEYS) assert(!everything.includes(key), "a key was told");
    });
  }
}

Deno.test("many requests at once while a key is being rejected: each gets its reply", async () => {
  await using upstream = keyedUpstream({ [KEYS[0]!]: error(401, "invalid_api_key") });
  await using gateway = await startGateway({ settings: settingsFor(upstream.url, KEYS) });
  const statuses = await Promise.all(
    Array.from({ length: sized(30, 60) }, () => statusOf(gateway.chat("Hi"))),
  );
  assert(statuses.every((status) => status === 200));
  const { [KEYS[0]!]: before } = upstream.counts;
  for (let at = 0; at < 10; at++) assertEquals(await statusOf(gateway.chat("Hi")), 200);
  assertEquals(upstream.counts[KEYS[0]!], before, "it was asked although it rests");
});

Deno.test("a key that works again is found by a probe, and takes its turns", async () => {
  let skewMs = 0;
  await using upstream = keyedUpstream({ [KEYS[0]!]: error(401, "invalid_api_key") });
  await using gateway = await startGateway({
    settings: settingsFor(upstream.url, KEYS.slice(0, 2)),
    now: () => Date.now() + skewMs,
  });
  const chat = async (times: number) => {
    for (let at = 0; at < times; at++) assertEquals(await statusOf(gateway.chat("Hi")), 200);
  };
  await chat(10);
  assertEquals(upstream.counts[KEYS[0]!], 1);
  skewMs += 2 * 60_000;
  await chat(10);
  assertEquals(upstream.counts[KEYS[0]!], 2, "one probe, which nobody notices");
  delete upstream.answers[KEYS[0]!];
  skewMs += 5 * 60_000;
  await chat(10);
  assertEquals(upstream.counts[KEYS[0]!]! > 5, true);
});

Deno.test("all keys rejected: the next target replies, and the keys are left alone", async () => {
  const rejected = error(401, "invalid_api_key");
  await using upstream = keyedUpstream(Object.fromEntries(KEYS.map((key) => [key, rejected])));
  await using second = fakeUpstream(() => completion("second"));
  await using gateway = await startGateway({
    settings: {
      upstreams: { pool: { url: upstream.url, keys: KEYS }, second: { url: second.url } },
      routes: {
        "svc-k2": {
          targets: [{ upstream: "pool", model: "a" }, { upstream: "second", model: "b" }],
        },
      },
    },
  });
  for (let at = 0; at < 5; at++) {
    const reply = await gateway.chat("Hi");
    await reply.body?.cancel();
    assertEquals([reply.status, reply.headers.get("x-sluice-upstream")], [200, "second"]);
  }
  assertEquals(upstream.order.length, 3);
  const [record] = await usageRecords(gateway);
  assertEquals(record!.attempts, 4);
});

const ALL: readonly { what: string; answers: (() => Response)[]; status: number }[] = [
  {
    what: "rejected",
    answers: [error(401, "invalid_api_key"), error(403, "forbidden")],
    status: 503,
  },
  {
    what: "over their rate limit",
    answers: [
      error(429, "rate_limit_exceeded", { "retry-after": "50" }),
      error(429, "rate_limit_exceeded", { "retry-after": "30" }),
    ],
    status: 429,
  },
  {
    what: "rejected, and over its rate limit",
    answers: [
      error(429, "rate_limit_exceeded", { "retry-after": "30" }),
      error(401, "invalid_api_key"),
    ],
    status: 429,
  },
];

for (const { what, answers, status } of ALL) {
  Deno.test(`all keys of the only target are ${what}: ${status}, without a word of keys`, async () => {
    await using upstream = keyedUpstream({ [KEYS[0]!]: answers[0]!, [KEYS[1]!]: answers[1]! });
    await using gateway = await startGateway({
      settings: settingsFor(upstream.url, KEYS.slice(0, 2)),
    });
    const reply = await gateway.chat("Hi");
    assertEquals(reply.status, status);
    const text = await reply.text();
    assert(!/key/i.test(text.replaceAll("x-api-key", "")), text);
    if (status === 429) assertEquals(reply.headers.get("retry-after"), "30");
    // the only target is used although its keys rest: somebody may have paid
    for (const key of KEYS) delete upstream.answers[key];
    assertEquals(await statusOf(gateway.chat("Hi")), 200);
  });
}

Deno.test("every key's text is taken out of what an upstream says", async () => {
  await using upstream = fakeUpstream(() =>
    Response.json({ error: { message: `bad: ${KEYS.join(" ")}` } }, { status: 400 })
  );
  await using gateway = await startGateway({ settings: settingsFor(upstream.url, KEYS) });
  const reply = await gateway.chat("Hi");
  assertEquals(reply.status, 400);
  assertStringIncludes(await reply.text(), "bad: [secret] [secret] [secret]");
  for (const key of KEYS) assert(!gateway.log().includes(key));
});

Deno.test("a conversation keeps its key through many turns, and loses it when that rests", async () => {
  await using upstream = keyedUpstream();
  await using gateway = await startGateway({ settings: settingsFor(upstream.url, KEYS) });
  const messages: unknown[] = [{ role: "user", content: "Hi" }];
  const turns = sized(15, 50);
  for (let turn = 0; turn < turns; turn++) {
    assertEquals(await statusOf(gateway.chat("", { messages })), 200);
    assertEquals(await statusOf(gateway.chat(`another ${turn}`)), 200);
    messages.push({ role: "assistant", content: "well" }, { role: "user", content: `${turn}` });
  }
  const [own] = upstream.order;
  assertEquals(upstream.order.filter((_, at) => at % 2 === 0), Array(turns).fill(own));
  upstream.answers[own!] = error(401, "invalid_api_key");
  for (let turn = 0; turn < 10; turn++) {
    assertEquals(await statusOf(gateway.chat("", { messages })), 200);
    messages.push({ role: "assistant", content: "well" }, { role: "user", content: `${turn}` });
  }
  const after = upstream.order.slice(2 * turns);
  assertEquals(after[0], own);
  assertEquals(new Set(after.slice(1)).size, 1, after.join(" "));
});

Deno.test("the same key twice is one key: rejected, neither place is used again", async () => {
  await using upstream = keyedUpstream({ [KEYS[0]!]: error(401, "invalid_api_key") });
  await using gateway = await startGateway({
    settings: settingsFor(upstream.url, [KEYS[0], KEYS[0], KEYS[1]]),
  });
  for (let at = 0; at < 10; at++) assertEquals(await statusOf(gateway.chat("Hi")), 200);
  assertEquals(upstream.counts, { [KEYS[0]!]: 1, [KEYS[1]!]: 10 });
});

Deno.test("probeUpstream() asks with the first key that is not rejected", async () => {
  await using upstream = keyedUpstream({
    [KEYS[0]!]: error(401, "invalid_api_key"),
    [KEYS[1]!]: () => Response.json({ object: "list", data: [{ id: "m" }] }),
  });
  const settings = upstreamSettings.parse({ url: upstream.url, keys: KEYS });
  const { status, models } = await probeUpstream("x", settings, {
    now: Date.now,
    patienceMs: 5_000,
  });
  assertEquals([status, models[0]!.id, upstream.order], [200, "m", KEYS.slice(0, 2)]);
});

Deno.test("a reload keeps what is known of keys and conversations, and takes new keys", async () => {
  await using upstream = keyedUpstream({ [KEYS[0]!]: error(401, "invalid_api_key") });
  await using gateway = await startGateway({ settings: settingsFor(upstream.url, KEYS) });
  const headers = { "x-session-id": "mine" };
  const chat = () => statusOf(gateway.chat("Hi", {}, { headers }));
  for (let at = 0; at < 3; at++) assertEquals(await statusOf(gateway.chat("Hi")), 200);
  assertEquals(await chat(), 200);
  const own = upstream.order.at(-1);
  upstream.order.length = 0;
  const keys = ["upstream-key-new", ...KEYS];
  assertEquals((await gateway.reload(settingsFor(upstream.url, keys))).fault, null);
  for (let at = 0; at < 4; at++) assertEquals(await chat(), 200);
  assertEquals(upstream.order, Array(4).fill(own), "its key has another place, and is the same");
  for (let at = 0; at < 6; at++) assertEquals(await statusOf(gateway.chat("Hi")), 200);
  assert(upstream.order.includes("upstream-key-new"));
  assert(!upstream.order.includes(KEYS[0]!), "it still cools down");
});
