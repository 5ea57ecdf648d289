import fc from "fast-check";
import { RateLimit } from "../../../src/ground/rate_limits/mod.ts";
import { assert, assertEquals } from "../../assert.ts";

const WINDOW_MS = 60_000;

function limited(limit: number) {
  const clock = { nowMs: 1_900_000_000_000 };
  const tries = new RateLimit({ limit, windowMs: WINDOW_MS, now: () => clock.nowMs });
  return { clock, tries };
}

Deno.test("an owner at its limit waits until enough of its units are a window old", () => {
  const { clock, tries } = limited(3);
  for (const pauseMs of [0, 10_000, 10_000]) {
    assertEquals(tries.waitMs("ada"), 0);
    clock.nowMs += pauseMs;
    tries.add("ada");
  }
  assertEquals([tries.waitMs("ada"), tries.waitMs("bob")], [40_000, 0]);
  clock.nowMs += 39_999;
  assertEquals(tries.waitMs("ada"), 1);
  clock.nowMs += 1;
  assertEquals(tries.waitMs("ada"), 0, "at the very end");
  tries.add("ada");
  assertEquals(tries.waitMs("ada"), 10_000);
});

Deno.test("many units at once: counted whole, and waited for whole", () => {
  const { clock, tries } = limited(1_000);
  tries.add("ada", 999);
  assertEquals(tries.waitMs("ada"), 0);
  tries.add("ada", 5_000);
  assertEquals(tries.waitMs("ada"), WINDOW_MS);
  clock.nowMs += WINDOW_MS;
  assertEquals(tries.waitMs("ada"), 0);
});

Deno.test("units that were taken back or forgotten do not count; a clock that is set back frees", () => {
  const { clock, tries } = limited(2);
  tries.add("ada");
  tries.add("ada");
  tries.undo("ada");
  assertEquals(tries.waitMs("ada"), 0);
  tries.add("ada");
  assert(tries.waitMs("ada") > 0);
  tries.clear("ada");
  tries.undo("ada");
  assertEquals(tries.waitMs("ada"), 0);
  tries.add("ada", 2);
  clock.nowMs -= 3_600_000;
  assertEquals(tries.waitMs("ada"), 0);
});

Deno.test("who was counted last is remembered, however many others there are", () => {
  const { tries } = limited(1);
  tries.add("ada");
  for (let other = 0; other < 60_000; other++) {
    tries.add(`other ${other}`);
    if (other % 20_000 === 0) tries.add("ada");
  }
  assert(tries.waitMs("ada") > 0);
  assertEquals(tries.waitMs("other 0"), 0, "forgotten");
});

Deno.test("no window of any place has more units than the limit, and nobody waits much longer", () => {
  const pause = fc.oneof(fc.nat({ max: 900 }), fc.nat({ max: 20_000 }));
  const steps = fc.array(pause, { minLength: 1, maxLength: 200, size: "max" });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), steps, (limit, pausesMs) => {
      const { clock, tries } = limited(limit);
      const counted: number[] = [];
      for (const pauseMs of pausesMs) {
        clock.nowMs += pauseMs;
        const waitMs = tries.waitMs("ada");
        const within = counted.filter((atMs) => atMs > clock.nowMs - WINDOW_MS);
        if (waitMs === 0) {
          assert(within.length < limit);
          tries.add("ada");
          counted.push(clock.nowMs);
        } else {
          const exactMs = (counted.at(-limit) ?? 0) + WINDOW_MS - clock.nowMs;
          assert(waitMs >= exactMs && waitMs <= exactMs + WINDOW_MS / 60 && waitMs <= WINDOW_MS);
        }
      }
    }),
  );
});
