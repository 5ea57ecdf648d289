/** The choice among an upstream's keys, in memory. */

import fc from "fast-check";
import { Refusal } from "../../../src/ground/refusal.ts";
import type { Failure } from "../../../src/requests/upstreams/failure.ts";
import { KeyHealth } from "../../../src/requests/upstreams/key_health.ts";
import { KeyPool } from "../../../src/requests/upstreams/key_pool.ts";
import { Turns } from "../../../src/requests/upstreams/turns.ts";
import { assert, assertEquals } from "../../assert.ts";

const MINUTE = 60_000;

function failure(ofKey: Failure["ofKey"], more: Partial<Failure> = {}): Failure {
  return {
    kind: "elsewhere",
    detail: "",
    words: "",
    outcome: "",
    status: 500,
    retryAfterMs: undefined,
    refusal: new Refusal("upstream_unavailable", ""),
    blame: true,
    trips: false,
    timedOut: false,
    ofKey,
    ...more,
  };
}
/** A 400: the key is good. */
const REQUEST_REJECTED = failure(undefined, {
  kind: "final",
  blame: false,
  status: 400,
  refusal: new Refusal("request_invalid", ""),
});

function poolOf(...weights: number[]) {
  const clock = { ms: 1_000_000 };
  const pool = new KeyPool(
    weights.map((weight, at) => ({
      id: `hash ${at + 1}`,
      position: at + 1,
      weight,
      headers: {},
      health: new KeyHealth(() => clock.ms),
    })),
    new Turns(),
  );
  /** The keys that a request is sent with until one is good. */
  const send = (outcomes: (position: number) => Failure | undefined, preferred?: string) => {
    const walk = pool.begin(preferred);
    const sent: number[] = [];
    for (let key = walk.next(); key !== undefined; key = walk.next()) {
      sent.push(key.position);
      if (!walk.ended(outcomes(key.position))) break;
    }
    walk.over();
    return sent;
  };
  return { clock, pool, send };
}
const good = () => undefined;

Deno.test("keys take turns by weight; a conversation keeps the one that it used last", () => {
  const { send } = poolOf(3, 1);
  const sent = Array.from({ length: 8 }, () => send(good)).flat();
  assertEquals(sent.toSorted(), [1, 1, 1, 1, 1, 1, 2, 2]);
  for (let at = 0; at < 8; at++) assertEquals(send(good, "hash 2"), [2]);
  assertEquals(send(good, "the hash of a key that was removed").length, 1);
});

for (const ofKey of ["rejected", "exhausted"] as const) {
  Deno.test(`a key that is ${ofKey}: the request moves on at once, and the key is probed seldom`, () => {
    const { clock, pool, send } = poolOf(1, 1);
    const outcomes = (position: number) => position === 1 ? failure(ofKey) : undefined;
    let probes = 0;
    for (let second = 0; second < 3_600; second++) {
      const sent = send(outcomes);
      assertEquals(sent.at(-1), 2);
      if (sent.length === 2) probes++;
      clock.ms += 1_000;
    }
    assert(probes >= 4 && probes <= 9, `${probes} probes in an hour`);
    assert(!pool.resting);
    clock.ms += 20 * MINUTE;
    const later = Array.from({ length: 4 }, () => send(good)).flat();
    assertEquals(later.filter((position) => position === 1).length, 2, "it is used again");
  });
}

Deno.test("a key over its rate limit rests as long as the upstream says, then takes its turns", () => {
  const { clock, send } = poolOf(1, 1);
  assertEquals(send((at) => at === 1 ? failure("limited", { retryAfterMs: 7_000 }) : undefined), [
    1,
    2,
  ]);
  clock.ms += 6_999;
  for (let at = 0; at < 4; at++) assertEquals(send(good), [2]);
  clock.ms += 1;
  assertEquals(Array.from({ length: 4 }, () => send(good)).flat().toSorted(), [1, 1, 2, 2]);
});

Deno.test("all keys rest: the one that rests least long is tried, and no other", () => {
  const { clock, pool, send } = poolOf(1, 1, 1);
  const limits = [0, 9_000, 3_000, 6_000];
  assertEquals(send((at) => failure("limited", { retryAfterMs: limits[at] })).length, 3);
  assert(pool.resting);
  assertEquals(send(good), [2]);
  clock.ms += 3_000;
  assert(!pool.resting);
  assertEquals(send(good), [2]);
});

Deno.test("a 403 that another key does not get rests the key; one that all get rests none", () => {
  const { pool, send } = poolOf(1, 1);
  const forbidden = () => failure("forbidden");
  assertEquals(send(forbidden), [1, 2]);
  assert(!pool.all.some(({ health }) => health.resting), "the request may be at fault");
  // a 500 does not say that the other key is allowed it
  assertEquals(
    send(
      (at) => at === 1 ? forbidden() : failure(undefined, { status: 500, kind: "again" }),
      "hash 1",
    ),
    [1, 2],
  );
  assert(!pool.all.some(({ health }) => health.resting));
  assertEquals(send((at) => at === 2 ? forbidden() : REQUEST_REJECTED), [2, 1]);
  assertEquals(pool.all.map(({ health }) => health.resting), [false, true]);
});

Deno.test("403 for every request: after five without a success the keys rest", () => {
  const { pool, send } = poolOf(1, 1);
  for (let at = 0; at < 5; at++) assertEquals(send(() => failure("forbidden")).length, 2);
  assert(pool.resting);
});

Deno.test("a success ends a row of 403s; what is blamed on the upstream is no success, whatever it is", () => {
  const { pool, send } = poolOf(1, 1);
  for (let times = 0; times < 3; times++) {
    for (let at = 0; at < 4; at++) send(() => failure("forbidden"));
    assertEquals(send(good, "hash 1"), [1]);
    assertEquals(send(good, "hash 2"), [2]);
  }
  assert(!pool.all.some(({ health }) => health.resting));
  const limited = failure(undefined, { refusal: new Refusal("rate_exceeded", "") });
  assertEquals(send((at) => at === 1 ? failure("forbidden") : limited, "hash 1"), [1, 2]);
  assert(!pool.all.some(({ health }) => health.resting), "another key was not allowed it either");
});

Deno.test("of keys that rest equally long the first is tried", () => {
  const { send } = poolOf(1, 1, 1);
  assertEquals(send(() => failure("limited", { retryAfterMs: 5_000 })).length, 3);
  assertEquals(send(good), [1]);
});

Deno.test("what says nothing of the key, as a 500, ends the walk and rests nothing", () => {
  const { pool, send } = poolOf(1, 1);
  for (let at = 0; at < 20; at++) {
    assertEquals(send(() => failure(undefined, { status: 500, kind: "again" })).length, 1);
  }
  assert(!pool.all.some(({ health }) => health.resting));
});

Deno.test("a probe that says nothing of the key leaves it to be probed again", () => {
  const { clock, pool, send } = poolOf(1, 1);
  send((at) => at === 1 ? failure("rejected") : undefined);
  clock.ms += 2 * MINUTE;
  const nothingSaid = [
    failure(undefined, { status: 503, kind: "again" }),
    failure(undefined, { status: undefined, kind: "final", blame: false }), // its client disconnected
  ];
  for (const outcome of nothingSaid) {
    const sent = Array.from({ length: 4 }, () => send(() => outcome)).flat();
    assertEquals(sent.filter((position) => position === 1).length, 2);
  }
  const walks = Array.from({ length: 4 }, () => pool.begin(undefined));
  const asked = walks.map((walk) => walk.next()!.position);
  for (const walk of walks) walk.over();
  assertEquals(asked.filter((position) => position === 1).length, 1, "it is still to be probed");
});

Deno.test("while one request probes a key, the others use another", () => {
  const { clock, pool, send } = poolOf(1, 1);
  send((at) => at === 1 ? failure("rejected") : undefined);
  clock.ms += 2 * MINUTE;
  const walks = Array.from({ length: 10 }, () => pool.begin(undefined));
  const positions = walks.map((walk) => walk.next()!.position);
  assertEquals(positions.filter((position) => position === 1).length, 1);
  for (const walk of walks) walk.over();
  assertEquals(send(good).length, 1);
});

Deno.test("whatever becomes of requests: each key is tried once, and one is always tried", () => {
  const outcome = fc.constantFrom<Failure["ofKey"] | "good" | "failed">(
    "rejected",
    "forbidden",
    "exhausted",
    "limited",
    "good",
    "failed",
  );
  const step = fc.record({
    outcomes: fc.array(outcome, { minLength: 3, maxLength: 3 }),
    waitMs: fc.constantFrom(0, 1_000, 2 * MINUTE, 30 * MINUTE),
    preferred: fc.option(fc.constantFrom("hash 1", "hash 2", "hash 3"), { nil: undefined }),
  });
  fc.assert(fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
    const { clock, pool, send } = poolOf(2, 1, 0);
    for (const { outcomes, waitMs, preferred } of steps) {
      clock.ms += waitMs;
      const usable = pool.all.filter(({ health }) => !health.resting);
      const sent = send((position) => {
        const one = outcomes[position - 1];
        if (one === "good") return undefined;
        return failure(one === "failed" ? undefined : one);
      }, preferred);
      assert(sent.length >= 1 && sent.length <= Math.max(1, usable.length));
      assertEquals(new Set(sent).size, sent.length);
      const kept = usable.find(({ id }) => id === preferred);
      if (kept !== undefined) assertEquals(sent[0], kept.position);
    }
    clock.ms += 30 * MINUTE;
    assert(!pool.resting, "no key is lost forever");
  }));
});
