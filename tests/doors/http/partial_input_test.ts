/** What may come of bodies and frames before they are whole, on connections that the test is. */

import type { Verdict } from "../../../src/doors/http/arrivals.ts";
import { PartialInput } from "../../../src/doors/http/partial_input.ts";
import { FairShare } from "../../../src/ground/fair_share/mod.ts";
import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import type { Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";

const MEGABYTE = 1_048_576;

/** A connection that is watched, of which the test says what has come. */
function watched({ perAccount = 4 * MEGABYTE, maxBytes = 2 * MEGABYTE } = {}) {
  const timers = new CoarseTimers();
  const memory = new FairShare({
    resource: "bytes",
    capacity: 8 * MEGABYTE,
    perAccount,
    waitMs: 0,
    timers,
  });
  const system = { received: undefined as number | undefined, isAll: false, ended: 0 };
  let judge: ((bytes: number) => Verdict) | undefined;
  const input = new PartialInput({
    memory,
    arrivals: {
      watch(_client, given) {
        judge = given;
        return {
          boundary: () => system.received,
          delivered: () => system.isAll,
          end: () => void system.ended++,
        };
      },
    },
  });
  const refused: [reason: string, bytes: number][] = [];
  const sender = {
    account: "a",
    maxBytes,
    refused: ({ message }: Refusal, bytes: number) => void refused.push([message, bytes]),
  };
  return {
    system,
    memory,
    refused,
    body: () => input.body(undefined, sender),
    frames: () => input.frames(undefined, sender),
    came: (bytes: number) => judge!(bytes),
    [Symbol.dispose]: () => timers.close(),
  };
}

Deno.test("what has come of a body takes its share of the memory until it was handed over", () => {
  using one = watched();
  const body = one.body();
  for (const [megabytes, used] of [[1, 1], [1, 1], [3, 3], [2, 3]] as const) {
    assertEquals(one.came(megabytes * MEGABYTE), "fine");
    assertEquals(one.memory.used, used * MEGABYTE);
  }
  body.delivered(10);
  assertEquals(one.memory.used, 3 * MEGABYTE, "not all was handed over");
  one.system.isAll = true;
  body.delivered(10);
  assertEquals(one.memory.used, 0);
  one.came(MEGABYTE);
  body.end();
  assertEquals([one.memory.used, one.system.ended, one.refused], [0, 1, []]);
});

Deno.test("what exceeds the bound, a megabyte more for what is read ahead, or the account's share ends the connection", () => {
  using large = watched();
  large.body();
  assertEquals(large.came(3 * MEGABYTE), "fine");
  assertEquals(large.came(3 * MEGABYTE + 1), "end soon");
  assertEquals(large.refused, [["Frame too large: the limit is 2 MiB.", 3 * MEGABYTE + 1]]);
  assertEquals(large.memory.used, 0);
  using poor = watched({ perAccount: 2 * MEGABYTE, maxBytes: 8 * MEGABYTE });
  poor.body();
  const other = poor.memory.takeNow("a", MEGABYTE);
  assertEquals(poor.came(MEGABYTE), "fine");
  assertEquals(poor.came(2 * MEGABYTE), "end soon");
  assertEquals([poor.refused.length, poor.memory.used], [1, MEGABYTE], "only the other's is left");
  other.release();
  using broken = watched();
  broken.memory.takeNow = () => {
    throw new TypeError("a bug");
  };
  broken.body();
  assertThrows(() => broken.came(MEGABYTE), TypeError, "a bug");
});

Deno.test("a message that came in fewer bytes than a masked frame has was not masked (table)", () => {
  for (
    const [payload, frame] of [
      [0, 6],
      [125, 131],
      [126, 134],
      [65_535, 65_543],
      [65_536, 65_550],
    ] as const
  ) {
    using one = watched();
    one.system.received = 100;
    const frames = one.frames();
    one.came(MEGABYTE);
    one.system.received = 100 + frame;
    assertEquals([frames.arrived(payload), one.memory.used], [true, 0], `${payload}`);
    one.system.received += frame - 1;
    assertEquals(frames.arrived(payload), false, `${payload}, the second`);
    one.system.received = undefined;
    assert(frames.arrived(payload), "nothing is known");
    frames.end();
    assertEquals(one.system.ended, 1);
  }
  using unknown = watched();
  const frames = unknown.frames();
  unknown.system.received = 1;
  assert(frames.arrived(1_000), "what came with the handshake is not known");
});
