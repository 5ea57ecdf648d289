/** The order in which targets are tried, in memory. */

import { Health } from "../../../src/requests/upstreams/health.ts";
import { KeyPool, type UpstreamKey } from "../../../src/requests/upstreams/key_pool.ts";
import type { Upstream } from "../../../src/requests/upstreams/mod.ts";
import type { OwnKey } from "../../../src/requests/upstreams/own_key.ts";
import { type OwnKeyPlan, OwnKeys } from "../../../src/requests/upstreams/own_keys.ts";
import {
  isResting,
  routed,
  Routing,
  type TargetPlan,
} from "../../../src/requests/upstreams/routing.ts";
import { RoutingMemory } from "../../../src/requests/upstreams/routing_memory.ts";
import { type OwnUpstreamKey, UpstreamKeyCipher } from "../../../src/people/accounts/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";

const ROUTE = { id: "route" };

/** A plan that can be sent with a key of the caller's own. */
interface OwnPlan extends OwnKeyPlan<OwnPlan> {}

interface Part {
  readonly weight?: number;
  readonly keys?: number;
  readonly model?: string;
}

/** Upstreams `u0`, `u1` and so on, as far as routing looks at them. */
function plansOf(memory: RoutingMemory, ...parts: readonly Part[]): readonly TargetPlan[] {
  return parts.map(({ weight, keys, model = "m" }, at) => {
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
    return { target: { upstream: name, model, weight }, upstream };
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

Deno.test("one target with one key: no conversation is identified, even if the route had more of them before", () => {
  const memory = new RoutingMemory(() => 0);
  memory.affinity.remember("a", ROUTE.id, { upstream: "u1", model: "m", keyId: undefined });
  for (const parts of [[{}], [{ weight: 3 }]]) {
    const plans = plansOf(memory, ...parts);
    const { routing, identified } = request(memory, plans, "a");
    routing.replied(plans[0]!, undefined);
    assertEquals([identified(), routing.plans === plans], [0, true]);
  }
});

Deno.test("a conversation stays at its target and model, of those that share by weight, and at its key (table)", () => {
  for (const parts of [[{ weight: 2 }, { weight: 1 }], [{ keys: 2 }], [{ weight: 1, keys: 2 }]]) {
    for (const at of [0, -1]) {
      const memory = new RoutingMemory(() => 0);
      const plans = plansOf(memory, ...parts);
      const last = plans.at(at)!;
      const key = last.upstream.keys?.all.at(-1);
      request(memory, plans, "a").routing.replied(last, key);
      for (let times = 0; times < 3; times++) {
        const { routing } = request(memory, plans, "a");
        assertEquals([routing.plans[0], routing.keyAt(last)], [last, key?.id]);
      }
      // what is no part of a conversation is only shared out
      const { plans: order } = routed(plans, { route: ROUTE, conversation: undefined }, memory);
      assertEquals(new Set(order), new Set(plans));
    }
  }
  const memory = new RoutingMemory(() => 0);
  const [one] = plansOf(memory, {});
  const plans = ["m", "n"].map((model) => ({ ...one!, target: { ...one!.target, model } }));
  request(memory, plans, "a").routing.replied(plans[1]!, undefined);
  assertEquals(request(memory, plans, "a").routing.plans, [plans[1]!, plans[0]!]);
});

Deno.test("plans with keys of the caller's own keep their places before or after the others, whatever is remembered of these", () => {
  const memory = new RoutingMemory(() => 0);
  const plans = plansOf(memory, {}, {});
  const own = plansOf(memory, {}, {}).map((plan) => ({
    ...plan,
    ownKey: { keys: { resting: false } } as unknown as OwnKey,
  }));
  request(memory, plans, "a").routing.replied(plans[1]!, undefined);
  const [one, other] = plans as [TargetPlan, TargetPlan];
  for (
    const [all, expected] of [
      [[...own, ...plans], [...own, other, one]],
      [[...plans, ...own], [other, one, ...own]],
      [own, own],
    ] as const
  ) {
    assertEquals(request(memory, all, "a").routing.plans, expected);
  }
  // the target's failures are those of the gateway's key
  for (const { upstream } of own) upstream.health.circuit("m").pass()!.failed(true);
  assertEquals(own.map(isResting), [false, false]);
  const resting = { ...own[0]!, ownKey: { keys: { resting: true } } as unknown as OwnKey };
  assertEquals([isResting(resting), isResting({ ...own[0]!, ownKey: undefined })], [true, true]);
});

Deno.test("targets that share by weight and all rest are tried as if none did", () => {
  const memory = new RoutingMemory(() => 0);
  const plans = plansOf(memory, { weight: 1 }, { weight: 2 }, {});
  for (const { upstream } of plans) upstream.health.circuit("m").pass()!.failed(true);
  assertEquals(request(memory, plans, "a").names(), ["u1", "u0", "u2"]);
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

Deno.test("own keys: alone, before the gateway's or after them, where the upstream takes them and they can be read (table)", () => {
  const cipher = {
    open: ({ id }: OwnUpstreamKey) => id === "unreadable" ? undefined : `sk-own-key-of-${id}`,
  } as unknown as UpstreamKeyCipher;
  const memory = new RoutingMemory(() => 0);
  const keys = new OwnKeys({ cipher, memory, now: () => 0 });
  const plansWith = (...parts: readonly Partial<Upstream>[]) =>
    plansOf(memory, ...parts.map(() => ({}))).map((plan, at) => {
      const upstream = {
        ...plan.upstream,
        hasKey: true,
        takesKeys: true,
        headersWith: (key: string) => ({ authorization: key }),
        ...parts[at],
      } as unknown as Upstream;
      return {
        ...plan,
        upstream,
        withOwnKey(ownKey: OwnKey): OwnPlan {
          return { ...this, ownKey };
        },
      };
    }) as readonly OwnPlan[];
  const stored = (upstream: string, more: Partial<OwnUpstreamKey> = {}) =>
    ({ id: "one", upstream, teamId: null, setAtMs: 1, ...more }) as OwnUpstreamKey;
  const namesOf = (plans: readonly OwnPlan[]) =>
    plans.map(({ upstream: { name }, ownKey }) => ownKey === undefined ? name : `own ${name}`);
  const [both, none] = [[{}, {}], [{ hasKey: false }, { hasKey: false }]] as const;
  for (
    const [parts, ownKeys, ownKeyUse, expected] of [
      [both, [], "last", ["u0", "u1"]],
      [both, [stored("u0")], "last", ["u0", "u1", "own u0"]],
      [both, [stored("u0")], "first", ["own u0", "u0", "u1"]],
      [both, [stored("u1")], "only", ["own u1"]],
      [both, [stored("u1"), stored("u0")], "only", ["own u0", "own u1"]],
      [both, [stored("u9")], "first", ["u0", "u1"]],
      [both, [stored("u0", { id: "unreadable" })], "first", ["u0", "u1"]],
      [[{ takesKeys: false }, {}], [stored("u0"), stored("u1")], "only", ["own u1"]],
      [[{ hasKey: false }, {}], [], "last", ["u1"]],
      [none, [stored("u0")], "last", ["own u0"]],
      [none, [], "first", undefined],
      [both, [], "only", undefined],
      [both, [stored("u0", { id: "unreadable" })], "only", undefined],
      [[{ takesKeys: false }], [stored("u0")], "only", undefined],
    ] as const
  ) {
    const order = () =>
      keys.order(plansWith(...parts), {
        ownKeys: [...ownKeys],
        ownKeyUse,
        teamName: null,
        forwarded: undefined,
      });
    if (expected === undefined) {
      assertEquals(assertThrows(order, Refusal).reason, "permission_denied");
    } else assertEquals(namesOf(order()), [...expected], JSON.stringify([ownKeys, ownKeyUse]));
  }

  const ownKeyOf = (ownKey: OwnUpstreamKey) => {
    const [plan] = keys.order(plansWith({}), {
      ownKeys: [ownKey],
      ownKeyUse: "only",
      teamName: null,
      forwarded: undefined,
    });
    return plan!.ownKey!;
  };
  const [mine, teams] = [ownKeyOf(stored("u0")), ownKeyOf(stored("u0", { teamId: "t" }))];
  const [key] = mine.keys.all;
  assertEquals([mine.owner, teams.owner], ["account", "team"]);
  assert(/^own key …\S+$/.test(mine.keys.nameOf(key!)), mine.keys.nameOf(key!));
  assert(teams.keys.nameOf(key!).startsWith("the team's key"));
  assertEquals(key!.headers, { authorization: "sk-own-key-of-one" });
  assertEquals(mine.redact("by sk-own-key-of-one"), "by [secret]");
  assert(ownKeyOf(stored("u0")).keys.all[0]!.health === key!.health, "it is known how it does");
  const replaced = ownKeyOf(stored("u0", { setAtMs: 2 })).keys.all[0]!.health;
  assert(replaced !== key!.health, "another one is another");

  const forward = (parts: readonly Partial<Upstream>[], forwarded: string) => {
    const caller = { ownKeys: [], ownKeyUse: "last" as const, teamName: null, forwarded };
    return keys.order(plansWith(...parts), caller);
  };
  const [takes, takesNot] = [{ takesForwardedKeys: true }, { takesForwardedKeys: false }];
  for (
    const [parts, forwarded, expected] of [
      [[takesNot, takes, takes], "sk-forwarded-1", ["own u1"]],
      [[takes, takes], "u1=sk-forwarded-1", ["own u1"]],
      [[takes, takesNot], "u1=sk-forwarded-1", /no upstream u1 that takes keys/],
      [[takes], "u9=sk-forwarded-1", /no upstream u9 that takes keys/],
      [[takesNot], "sk-forwarded-1", /upstreams of this model take no keys/],
      [[takes], "sk forwarded 1", /^X-Sluice-Upstream-Key: /],
    ] as const
  ) {
    if (Array.isArray(expected)) {
      const plans = forward(parts, forwarded);
      assertEquals(namesOf(plans), expected);
      const [{ ownKey }] = plans as [OwnPlan];
      assertEquals([ownKey!.owner, ownKey!.keys.all[0]!.headers.authorization], [
        "request",
        "sk-forwarded-1",
      ]);
    } else {
      const { reason, message } = assertThrows(() => forward(parts, forwarded), Refusal);
      assertEquals(reason, "request_invalid");
      assert((expected as RegExp).test(message), message);
      assert(!message.includes("forwarded"), "without the key");
    }
  }
  const plans = plansWith(takes);
  const targets = ["m", "n"].map((model): OwnPlan => ({
    ...plans[0]!,
    target: { upstream: "u0", model },
  }));
  const forwarded = "k-1"; // too short to be hinted at
  const one = { ownKeys: [], ownKeyUse: "last" as const, teamName: null, forwarded };
  assertEquals(namesOf(keys.order(targets, one)), ["own u0", "own u0"]);
  const [short] = keys.order(targets, one);
  assertEquals(short!.ownKey!.keys.nameOf(short!.ownKey!.keys.all[0]!), "the request's key");
});

Deno.test("of ten thousand own keys it is known how they do; of more the first one is forgotten", () => {
  const memory = new RoutingMemory(() => 0);
  const [first, second] = ["0", "1"].map((id) => memory.ownKeyHealth(id));
  for (let id = 2; id < 10_000; id++) memory.ownKeyHealth(`${id}`);
  assert(memory.ownKeyHealth("9999") !== first);
  assert(memory.ownKeyHealth("0") === first, "as many as are remembered");
  memory.ownKeyHealth("10000");
  assert(memory.ownKeyHealth("1") === second);
  assert(memory.ownKeyHealth("0") !== first, "it was forgotten");
});
