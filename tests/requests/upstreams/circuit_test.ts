/** The circuit of a target and the health of an upstream, by a clock: at each bound, and one beyond it. */

import { Circuit } from "../../../src/requests/upstreams/circuit.ts";
import { Health } from "../../../src/requests/upstreams/health.ts";
import { KeyHealth } from "../../../src/requests/upstreams/key_health.ts";
import type { KeyPool } from "../../../src/requests/upstreams/key_pool.ts";
import { assert, assertEquals } from "../../assert.ts";

const COOLDOWNS = { firstCooldownMs: 1_000, maxCooldownMs: 4_000 };
/** A cooldown lasts up to 15 % longer. */
const LONGEST = 1.15;

/** A circuit by a clock, and how long it is open from now on at least and at most. */
function circuit() {
  const clock = { nowMs: 10_000 };
  const one = new Circuit(() => clock.nowMs, COOLDOWNS);
  const assertOpen = (ms: number, what: string) => {
    assertEquals([one.isOpen, one.isClosed], [true, false], what);
    const leftMs = one.openUntilMs - clock.nowMs;
    assert(leftMs >= ms && leftMs <= ms * LONGEST, `${what}: ${leftMs}`);
  };
  const assertClosed = (what: string) =>
    assertEquals([one.isOpen, one.isClosed], [false, true], what);
  const fail = (times: number, atOnce = false) => {
    for (let time = 0; time < times; time++) one.pass()!.failed(atOnce);
  };
  return { clock, one, assertOpen, assertClosed, fail };
}

Deno.test("a circuit opens at the fifth failure in a row, or at one that says enough", () => {
  const { one, fail, assertOpen, assertClosed } = circuit();
  fail(4);
  assertClosed("four failures");
  one.pass()!.succeeded();
  fail(4);
  one.pass()!.abandoned();
  assertClosed("four more, and one that says nothing");
  fail(1);
  assertOpen(1_000, "the fifth");
  assertEquals(one.pass(), undefined);
  const other = circuit();
  other.fail(1, true);
  other.assertOpen(1_000, "at once");
});

Deno.test("a cooldown doubles with each failed probe, up to its limit; one probe at a time", () => {
  const { one, clock, fail, assertOpen, assertClosed } = circuit();
  const sent = Array.from({ length: 3 }, () => one.pass()!);
  fail(5);
  for (const ms of [1_000, 2_000, 4_000, 4_000]) {
    assertOpen(ms, `cooldown of ${ms}`);
    sent.pop()?.failed(false); // it was sent before
    assertOpen(ms, "what was sent before it opened makes it no longer");
    clock.nowMs = one.openUntilMs;
    assertEquals(one.isOpen, false, "it may be probed");
    const probe = one.pass()!;
    assertEquals([probe.isProbe, one.isOpen, one.pass()], [true, true, undefined]);
    const forced = one.force();
    assertEquals(forced.isProbe, false);
    forced.abandoned();
    assertEquals([one.isOpen, one.pass()], [true, undefined], "the probe is still on its way");
    probe.failed(false);
    probe.succeeded(); // it is known already
  }
  clock.nowMs = one.openUntilMs;
  one.pass()!.abandoned();
  assertEquals(one.isOpen, false, "to be probed again");
  one.pass()!.succeeded();
  assertClosed("the probe succeeded");
  assertEquals(one.force().isProbe, false);
  fail(4);
  assertClosed("failures are counted from the beginning");
  fail(1);
  assertOpen(1_000, "and so are cooldowns");
});

Deno.test("a request that had nowhere else to go closes a circuit before its time if it succeeds", () => {
  const { one, fail, assertOpen, assertClosed } = circuit();
  fail(5);
  assertOpen(1_000, "five failures");
  one.force().succeeded();
  assertClosed("what was forced succeeded");
  assertEquals(one.pass()?.isProbe, false);
});

Deno.test("five streams in a row that break open a circuit, for twice as long if the next five do", () => {
  const { one, clock, assertOpen, assertClosed } = circuit();
  const breaks = (times: number) => {
    for (let time = 0; time < times; time++) one.streamBroke();
  };
  breaks(4);
  one.streamCompleted();
  breaks(4);
  assertClosed("four");
  breaks(1);
  assertOpen(1_000, "five");
  const untilMs = one.openUntilMs;
  breaks(5);
  assertEquals(one.openUntilMs, untilMs, "it is open");
  clock.nowMs = untilMs;
  one.pass()!.succeeded();
  breaks(1);
  assertOpen(2_000, "again");
  clock.nowMs = one.openUntilMs;
  one.pass()!.succeeded();
  one.streamCompleted();
  breaks(5);
  assertOpen(1_000, "after one that was whole");
});

Deno.test("a key rests while it is limited or its circuit is open, whichever is longer", () => {
  const clock = { nowMs: 10_000 };
  const key = new KeyHealth(() => clock.nowMs);
  assertEquals(key.resting, false);
  key.limited();
  assertEquals([key.resting, key.usableAtMs], [true, 15_000]);
  key.limited(1_000);
  assertEquals(key.usableAtMs, 15_000, "a shorter wait takes nothing of a longer one");
  key.limited(8_000);
  clock.nowMs = 17_999;
  assertEquals(key.resting, true);
  clock.nowMs = 18_000;
  assertEquals(key.resting, false);
  key.pass().failed(true);
  assert(key.resting && key.usableAtMs >= 78_000, String(key.usableAtMs));
  key.limited(1_000_000);
  assertEquals(key.usableAtMs, 1_018_000);
});

Deno.test("an upstream is failing when all its targets rest, or as its last reply was", () => {
  const clock = { nowMs: 10_000 };
  const health = new Health(() => clock.nowMs);
  assertEquals([health.state, health.resting, health.failingModels], ["unknown", false, []]);
  health.responded();
  assertEquals([health.state, health.lastOutcomeAtMs], ["ok", 10_000]);
  clock.nowMs++;
  health.failed("no reply");
  assertEquals([health.state, health.resting], ["failing", false]);
  assertEquals(health.lastFailure, { detail: "no reply", atMs: 10_001 });
  health.succeeded(7);
  assertEquals([health.state, health.lastLatencyMs], ["ok", 7]);
  assertEquals(health.circuit("a"), health.circuit("a"));
  health.circuit("b").pass()!.failed(true);
  assertEquals([health.state, health.resting, health.failingModels], ["ok", false, ["b"]]);
  health.circuit("a").pass()!.failed(true);
  assertEquals([health.state, health.resting, health.failingModels], ["failing", true, ["a", "b"]]);
  clock.nowMs = Math.max(health.circuit("a").openUntilMs, health.circuit("b").openUntilMs);
  assertEquals([health.resting, health.failingModels], [false, ["a", "b"]]);
  for (const resting of [false, true]) {
    const keyed = new Health(() => clock.nowMs, { resting } as KeyPool);
    assertEquals([keyed.resting, keyed.state], [resting, resting ? "failing" : "unknown"]);
  }
});
