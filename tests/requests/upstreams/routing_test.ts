/** The order in which targets are tried, in memory. */

import { Health } from "../../../src/requests/upstreams/health.ts";
import { KeyPool, type UpstreamKey } from "../../../src/requests/upstreams/key_pool.ts";
import type { Upstream } from "../../../src/requests/upstreams/mod.ts";
import type { OwnKey } from "../../../src/requests/upstreams/own_key.ts";
import { OwnKeys } from "../../../src/requests/upstreams/own_keys.ts";
import { routed, Routing, type TargetPlan } from "../../../src/requests/upstreams/routing.ts";
import { RoutingMemory } from "../../../src/requests/upstreams/routing_memory.ts";
import { UpstreamKeyCipher } from "../../../src/people/accounts/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";

const ROUTE = { id: "route" };

interface Part {
  readonly weight?: number;
  readonly keys?: number;
}

/** Upstreams `u0`, `u1` and so on, as far as routing looks at them. */
function plansOf(memory: RoutingMemory, ...parts: readonly Part[]): readonly TargetPlan[] {
  return parts.map(({ weight, keys }, at) => {
    const name = `u${at}`;
    const pool = keys === undefined ? undefined : new KeyPool(
      Array.from({ length: keys }, (_, key) => ({
        id: `hash ${key}`,
        position: key + 1,
        weight: 1,
        headers: {},
        health: memory.keyHealth(name, `hash ${key}`),
      })),
      memory.turnsOfKeys(name),
    );
    const upstream = { name, keys: pool, health: new Health(() => 0, pool) } as unknown as Upstream;
    return { target: { upstream: name, model: "m", weight }, upstream };
  });
}

function request(memory: RoutingMemory, plans: readonly TargetPlan[], id: string, begins = false) {
  let identified = 0;
  const routing = routed(plans, {
    route: ROUTE,
    conversation: () => {
      identified++;
      return { id, begins };
    },
  }, memory);
  return {
    routing,
    names: () => routing.plans.map(({ upstream }) => upstream.name),
    identified: () => identified,
  };
}

Deno.test("one target with one key, and plain failover: no conversation is identified", () => {
  for (const parts of [[{}], [{ weight: 3 }], [{}, {}]]) {
    const memory = new RoutingMemory(() => 0);
    const plans = plansOf(memory, ...parts);
    const { routing, identified } = request(memory, plans, "a");
    routing.replied(plans[0]!, undefined);
    assertEquals([identified(), memory.affinity.size], [0, 0]);
    assert(routing.plans === plans);
  }
});

Deno.test("plain failover: only conversations that were moved are remembered, until they are back", () => {
  const memory = new RoutingMemory(() => 0);
  const plans = plansOf(memory, {}, {});
  request(memory, plans, "a").routing.replied(plans[1]!, undefined);
  assertEquals(request(memory, plans, "a").names(), ["u1", "u0"]);
  assertEquals(request(memory, plans, "b").names(), ["u0", "u1"]);
  assertEquals(request(memory, plans, "a", true).names(), ["u0", "u1"], "a new one as it begins");
  request(memory, plans, "a").routing.replied(plans[0]!, undefined);
  assertEquals([memory.affinity.size, request(memory, plans, "c").identified()], [0, 0]);
});

Deno.test("what routing remembers serves upstreams that are built again", () => {
  const memory = new RoutingMemory(() => 0);
  const before = plansOf(memory, { weight: 1, keys: 2 }, { weight: 1 });
  const [pool] = before;
  const key = pool!.upstream.keys!.all[1]!;
  request(memory, before, "a").routing.replied(pool!, key);
  pool!.upstream.keys!.all[0]!.health.pass().failed(true);
  const after = plansOf(memory, { weight: 1, keys: 2 }, { weight: 1 });
  const { routing, names } = request(memory, after, "a");
  assertEquals([names(), routing.keyAt(after[0]!)], [["u0", "u1"], "hash 1"]);
  assertEquals(after[0]!.upstream.keys!.all.map(({ health }) => health.resting), [true, false]);
  // and when the target is gone, the others take over
  assertEquals(request(memory, after.slice(1), "a").names(), ["u1"]);
});

Deno.test("a conversation whose target rests goes where the weights put it, without its key", () => {
  const memory = new RoutingMemory(() => 0);
  const plans = plansOf(memory, { weight: 1, keys: 2 }, { weight: 1 });
  const { all } = plans[0]!.upstream.keys!;
  request(memory, plans, "a").routing.replied(plans[0]!, all[0]);
  for (const { health } of all) health.pass().failed(true);
  const { routing, names } = request(memory, plans, "a");
  assertEquals([names(), routing.keyAt(plans[0]!)], [["u1", "u0"], undefined]);
});

Deno.test("what replied comes first from then on; of a key that is the caller's own nothing is noted", () => {
  for (const hasNote of [false, true]) {
    for (const isOwn of [false, true]) {
      const plans = plansOf(new RoutingMemory(() => 0), {}, {});
      const other = isOwn ? { ...plans[1]!, ownKey: {} as OwnKey } : plans[1]!;
      const noted: TargetPlan[] = [];
      const all = [plans[0]!, other];
      const routing = new Routing(all, undefined, hasNote ? (plan) => noted.push(plan) : undefined);
      routing.replied(other, { id: "hash 1" } as UpstreamKey);
      const name = `note: ${hasNote}, own key: ${isOwn}`;
      assertEquals(routing.plans[0] === other, isOwn || hasNote, name);
      assertEquals(noted, hasNote && !isOwn ? [other] : [], name);
      assertEquals(routing.keyAt(other), hasNote && !isOwn ? "hash 1" : undefined, name);
      assertEquals(routing.keyAt(plans[0]!), undefined, name);
    }
  }
});

Deno.test("without a key for any target, the refusal says whose key is missing, and why the gateway has none", () => {
  const memory = new RoutingMemory(() => 0);
  const cipher = new UpstreamKeyCipher(new Uint8Array(32));
  const keys = new OwnKeys({ cipher, memory, now: () => 0 });
  const plansWith = (hasKey: boolean) =>
    plansOf(memory, {}, {}, {}).map((plan, at) => ({
      ...plan,
      upstream: { ...plan.upstream, name: `u${at % 2}`, hasKey } as unknown as Upstream,
      withOwnKey() {
        throw new TypeError("there is none");
      },
    }));
  for (
    const [ownKeyUse, teamName, hasKey, words] of [
      [
        "only",
        "Ops",
        true,
        "The team Ops uses its own keys only: a key of the team Ops for u0 or u1",
      ],
      [
        "only",
        "Ops",
        false,
        "The team Ops uses its own keys only: a key of the team Ops for u0 or u1",
      ],
      [
        "first",
        "Ops",
        false,
        "This model is used with keys of one's own only: a key of the team Ops",
      ],
      [
        "last",
        null,
        false,
        "This model is used with keys of one's own only: a key of your own for u0",
      ],
    ] as const
  ) {
    const caller = { ownKeys: [], ownKeyUse, teamName, forwarded: undefined };
    const error = assertThrows(() => keys.order(plansWith(hasKey), caller), Refusal);
    assertEquals(error.reason, "permission_denied");
    assert(error.message.startsWith(words), error.message);
    assert(error.message.includes("is missing, or cannot be read any more"));
  }
  const plans = plansWith(true);
  const ownKeyUse = "last" as const;
  const caller = { ownKeys: [], ownKeyUse, teamName: null, forwarded: undefined };
  assertEquals(keys.order(plans, caller), plans);
});
