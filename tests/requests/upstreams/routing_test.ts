/** The order in which targets are tried, in memory. */

import { Health } from "../../../src/requests/upstreams/health.ts";
import { KeyPool } from "../../../src/requests/upstreams/key_pool.ts";
import type { Upstream } from "../../../src/requests/upstreams/mod.ts";
import { routed, type TargetPlan } from "../../../src/requests/upstreams/routing.ts";
import { RoutingMemory } from "../../../src/requests/upstreams/routing_memory.ts";
import { assert, assertEquals } from "../../assert.ts";

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
