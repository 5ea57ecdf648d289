/** Targets that share a route by weight, and conversations that stay where they were answered, over sockets. */

import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { customer } from "../fake/customer.ts";
import { startGateway, statusOf, type TestGateway } from "../fake/gateway.ts";
import { completion, fakeUpstream } from "../fake/upstream.ts";
import { sized } from "../tier.ts";

/** An upstream that can be made to fail. */
function target() {
  const state = { status: 200 };
  const { url, received, ...upstream } = fakeUpstream(() =>
    state.status === 200 ? completion("well") : new Response("", { status: state.status })
  );
  return Object.assign(state, { url, received }, upstream);
}

function settingsFor(
  targets: readonly { readonly url: string; readonly weight?: number }[],
): SettingsInput {
  return {
    upstreams: Object.fromEntries(targets.map(({ url }, at) => [`u${at}`, { url }])),
    routes: {
      "svc-k2": {
        targets: targets.map(({ weight }, at) => ({
          upstream: `u${at}`,
          model: `m${at}`,
          ...(weight === undefined ? {} : { weight }),
        })),
      },
    },
  } as SettingsInput;
}

/** A request's upstream. */
async function upstreamOf(reply: Promise<Response>): Promise<string | null> {
  const { status, headers, body } = await reply;
  await body?.cancel();
  assertEquals(status, 200);
  return headers.get("x-sluice-upstream");
}

/** A conversation that grows with each request. */
function conversation(gateway: TestGateway, beginning: string, headers = {}) {
  const messages: unknown[] = [{ role: "user", content: beginning }];
  return async () => {
    const upstream = await upstreamOf(gateway.chat("", { messages }, { headers }));
    messages.push({ role: "assistant", content: "well" }, { role: "user", content: "and?" });
    return upstream;
  };
}

function tally(all: readonly (string | null)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const one of all) counts[one!] = (counts[one!] ?? 0) + 1;
  return counts;
}

Deno.test("weights 3 and 1 share requests, one after the other and at once", async () => {
  await using a = target();
  await using b = target();
  await using gateway = await startGateway({
    settings: settingsFor([{ url: a.url, weight: 3 }, { url: b.url, weight: 1 }]),
  });
  const all: (string | null)[] = [];
  const half = sized(12, 200);
  for (let at = 0; at < half; at++) all.push(await upstreamOf(gateway.chat("Hi")));
  const once = Array.from({ length: half }, () => upstreamOf(gateway.chat("Hi")));
  all.push(...await Promise.all(once));
  assertEquals(tally(all), { u0: 1.5 * half, u1: 0.5 * half });
});

Deno.test("weights share out conversations of several turns too", async () => {
  await using a = target();
  await using b = target();
  await using gateway = await startGateway({
    settings: settingsFor([{ url: a.url, weight: 3 }, { url: b.url, weight: 1 }]),
  });
  const number = sized(16, 40);
  const turns = sized(3, 5);
  const all = await Promise.all(Array.from({ length: number }, async (_, at) => {
    const next = conversation(gateway, `conversation ${at}`);
    const upstreams = [];
    for (let turn = 0; turn < turns; turn++) upstreams.push(await next());
    assertEquals(new Set(upstreams).size, 1);
    return upstreams;
  }));
  assertEquals(tally(all.flat()), { u0: 0.75 * number * turns, u1: 0.25 * number * turns });
});

Deno.test("the others are the failover in order of weight, then those without weight as listed", async () => {
  await using none = target();
  await using light = target();
  await using heavy = target();
  await using zero = target();
  await using gateway = await startGateway({
    settings: settingsFor([
      { url: none.url },
      { url: light.url, weight: 1 },
      { url: heavy.url, weight: 20 },
      { url: zero.url, weight: 0 },
    ]),
  });
  const all: (string | null)[] = [];
  for (let at = 0; at < 21; at++) all.push(await upstreamOf(gateway.chat("Hi")));
  assertEquals(tally(all), { u1: 1, u2: 20 });
  const next = () => upstreamOf(gateway.chat("Hi"));
  heavy.status = 401;
  assertEquals(await next(), "u1");
  light.status = 401;
  assertEquals(await next(), "u0");
  none.status = 401;
  assertEquals(await next(), "u3");
});

Deno.test("a weight of 0 alone changes nothing: failover order, as listed", async () => {
  await using a = target();
  await using b = target();
  await using gateway = await startGateway({
    settings: settingsFor([{ url: a.url, weight: 0 }, { url: b.url }]),
  });
  for (let at = 0; at < 5; at++) assertEquals(await upstreamOf(gateway.chat("Hi")), "u0");
});

Deno.test("a conversation keeps its target through many turns, and loses it only when that rests", async () => {
  let skewMs = 0;
  await using a = target();
  await using b = target();
  await using gateway = await startGateway({
    settings: settingsFor([{ url: a.url, weight: 1 }, { url: b.url, weight: 1 }]),
    now: () => Date.now() + skewMs,
  });
  const next = conversation(gateway, "Hello");
  const own = await next();
  for (let turn = 0; turn < sized(15, 50); turn++) {
    await statusOf(gateway.chat(`another ${turn}`));
    assertEquals(await next(), own);
  }
  const [mine, other] = own === "u0" ? [a, b] : [b, a];
  mine.status = 500;
  for (let at = 0; at < 10; at++) await statusOf(gateway.chat(`another ${at}`)); // it rests by now
  const moved = await next();
  assert(moved !== own);
  mine.status = 200;
  skewMs += 120_000;
  for (let at = 0; at < 4; at++) await statusOf(gateway.chat(`another ${at}`)); // it is healthy again
  const askedBefore = mine.received.length;
  for (let turn = 0; turn < 10; turn++) assertEquals(await next(), moved);
  assertEquals(mine.received.length, askedBefore, "it stays where it was answered last");
  assert(other.received.length > 0);
});

Deno.test("plain failover order: a conversation that was moved stays, a new one begins at the first", async () => {
  await using a = target();
  await using b = target();
  await using gateway = await startGateway({
    settings: settingsFor([{ url: a.url }, { url: b.url }]),
  });
  const [moved, kept] = [conversation(gateway, "one"), conversation(gateway, "two")];
  assertEquals([await moved(), await kept()], ["u0", "u0"]);
  a.status = 401;
  assertEquals(await moved(), "u1");
  a.status = 200;
  for (let turn = 0; turn < 5; turn++) {
    assertEquals([await moved(), await kept()], ["u1", "u0"]);
    assertEquals(await upstreamOf(gateway.chat("new")), "u0");
  }
  b.status = 401;
  assertEquals(await moved(), "u0");
  b.status = 200;
  assertEquals(await moved(), "u0");
});

Deno.test("after an idle hour a conversation is where the route's order puts it", async () => {
  let skewMs = 0;
  await using a = target();
  await using b = target();
  await using gateway = await startGateway({
    settings: settingsFor([{ url: a.url }, { url: b.url }]),
    now: () => Date.now() + skewMs,
  });
  const next = conversation(gateway, "Hello");
  a.status = 401;
  assertEquals(await next(), "u1");
  a.status = 200;
  skewMs += 3_500_000;
  assertEquals(await next(), "u1");
  skewMs += 3_700_000;
  assertEquals(await next(), "u0");
});

Deno.test("a session that the client names stays with its target whatever is said; an account cannot name another's", async () => {
  await using a = target();
  await using b = target();
  await using gateway = await startGateway({
    settings: settingsFor([{ url: a.url, weight: 1 }, { url: b.url, weight: 1 }]),
  });
  const { keys: [key] } = await customer(gateway, 1_000);
  const headers = { "x-claude-code-session-id": "same" };
  const [mine, theirs] = [
    await upstreamOf(gateway.chat("Hi", {}, { headers })),
    await upstreamOf(gateway.chat("Hi", {}, { headers, key: key! })),
  ];
  assert(mine !== theirs, "each began a conversation of its own");
  for (let at = 0; at < 10; at++) {
    assertEquals(await upstreamOf(gateway.chat(`other words ${at}`, {}, { headers })), mine);
    assertEquals(await upstreamOf(gateway.chat(`words ${at}`, {}, { headers, key: key! })), theirs);
  }
});

Deno.test("choices that are requested one by one go to the same target", async () => {
  await using a = target();
  await using b = target();
  const settings = settingsFor([{ url: a.url, weight: 1 }, { url: b.url, weight: 1 }]);
  for (const one of Object.values(settings.upstreams!)) Object.assign(one, { quirks: "ollama" });
  await using gateway = await startGateway({ settings });
  for (let at = 0; at < 4; at++) {
    const before = [a.received.length, b.received.length];
    assertEquals(await statusOf(gateway.chat("Hi", { n: 4 })), 200);
    const asked = [a.received.length - before[0]!, b.received.length - before[1]!];
    assertEquals(asked.toSorted(), [0, 4]);
  }
});
