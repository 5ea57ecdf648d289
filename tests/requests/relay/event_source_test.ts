/** An upstream's events as they come: at least one at a time, within each bound, and woken in time. */

import type { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { EventSource } from "../../../src/requests/relay/event_source.ts";
import type { ReplyLimits } from "../../../src/requests/relay/reply_limits.ts";
import type { ReadyBytes, Waiter } from "../../../src/requests/upstreams/mod.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { until } from "../../fake/temp.ts";

const WIDE: ReplyLimits = {
  bytes: 1e6,
  values: 1e5,
  streamBytes: 1e8,
  events: 1e4,
  eventValues: 1e5,
  silentBytes: 1e8,
};
const EVENT = "data: x\n\n";

/** A source of pieces that are all there; an end, an error, or nothing yet comes after them. */
function sourceOf(
  pieces: readonly string[],
  limits: Partial<ReplyLimits> = {},
  after: undefined | null | Error = undefined,
) {
  const left = pieces.map((piece) => new TextEncoder().encode(piece));
  const timers: { ms: number; fire: () => void; isDismissed: boolean }[] = [];
  const state = { taken: 0, waiter: undefined as Waiter | undefined };
  const body: ReadyBytes = {
    take() {
      state.taken++;
      if (left.length > 0) return left.shift();
      if (after instanceof Error) throw after;
      return after;
    },
    whenReady: (waiter) => void (state.waiter = waiter),
    read: () => Promise.reject(new Error("not read")),
  };
  const clock = {
    after(ms: number, fire: () => void) {
      const timer = { ms, fire, isDismissed: false };
      timers.push(timer);
      return () => void (timer.isDismissed = true);
    },
  } as unknown as CoarseTimers;
  const reply = { status: 200, headers: {}, body, discard() {}, drain() {} };
  const source = new EventSource(reply, clock, { ...WIDE, ...limits });
  return { source, timers, state };
}

/** Takes all that there is. */
function taken(source: EventSource): number {
  let count = 0;
  for (let events = source.take(); events; events = source.take()) {
    assert(events.length > 0);
    count += events.length;
  }
  return count;
}

Deno.test("what holds no event yet is nothing, and an end is one for good", () => {
  const part = sourceOf(["data: ", "x\n"], {}, null);
  assertEquals([part.source.take(), part.state.taken], [null, 3]);
  const whole = sourceOf(["data: ", "x\n", "\n"]);
  assertEquals(whole.source.take(), [{ event: "message", data: "x" }]);
  assertEquals([whole.source.take(), whole.state.taken], [undefined, 4]);
  assertEquals([whole.source.take(), whole.state.taken], [undefined, 4], "it is not asked again");
  const open = sourceOf([EVENT, "data: [DONE]"]);
  assertEquals([taken(open.source), open.source.take()], [2, undefined]);
});

Deno.test("each bound of a stream: at it, and beyond it", () => {
  const rows: readonly (readonly [
    pieces: readonly string[],
    limits: (within: boolean) => Partial<ReplyLimits>,
    says: string,
  ])[] = [
    [[EVENT, EVENT], (within) => ({ streamBytes: within ? 18 : 17 }), "more than 17 bytes"],
    [[EVENT, EVENT + EVENT], (within) => ({ events: within ? 3 : 2 }), "more than 2 events"],
    // what comes with an event does not count, nor what came before it
    [
      [": a\n", ": b\n", EVENT, ": c\n", ": d\n"],
      (within) => ({ silentBytes: within ? 8 : 7 }),
      "7 bytes without an event",
    ],
    [
      [`data: [${"0,".repeat(250)}0]\n\n`],
      (within) => ({ eventValues: within ? 252 : 251 }),
      "too many JSON values",
    ],
  ];
  for (const [pieces, limits, says] of rows) {
    assert(taken(sourceOf(pieces, limits(true)).source) > 0, says);
    const refusal = assertThrows(
      () => taken(sourceOf(pieces, limits(false)).source),
      Refusal,
      says,
    );
    assertEquals([refusal.reason, refusal.ofThisRequest], ["upstream_unavailable", true], says);
  }
});

Deno.test("an event without end is more than is kept; other faults are thrown as they are", () => {
  const { source } = sourceOf(["x".repeat(16 * 1_048_576 + 1)]);
  const refusal = assertThrows(() => source.take(), Refusal, "invalid event stream");
  assertEquals([refusal.reason, refusal.ofThisRequest], ["upstream_unavailable", true]);
  const error = new TypeError("a fault of the gateway");
  const broken = sourceOf([EVENT], {}, error);
  assertEquals(broken.source.take()?.length, 1);
  assertEquals(assertThrows(() => broken.source.take(), TypeError), error);
});

Deno.test("others have a turn after some bytes, whatever is there already", async () => {
  const { source, state } = sourceOf([EVENT.repeat(200), EVENT.repeat(100), EVENT]);
  assertEquals(taken(source), 300);
  const before = state.taken;
  assertEquals([source.take(), state.taken], [null, before], "a turn is due");
  let isWoken = false;
  source.whenReady({ wake: () => isWoken = true });
  assertEquals([isWoken, state.waiter], [false, undefined], "it is not asked when it is ready");
  await until(() => isWoken, { what: "the turn" });
  assertEquals(taken(source), 1);
});

Deno.test("who waits until a time is woken then, by one timer, and who has stopped waiting is not", () => {
  const { source, timers, state } = sourceOf([], {}, null);
  let woken = 0;
  const waiter = { wake: () => woken++ };
  source.whenReady(waiter);
  assertEquals([timers.length, state.waiter !== undefined], [0, true]);
  const untilTick = 1e12;
  source.whenReady(waiter, untilTick);
  source.whenReady(waiter, untilTick + 50_000);
  assertEquals(timers.length, 1);
  assert(timers[0]!.ms > 0 && timers[0]!.ms <= untilTick, `${timers[0]!.ms}`);
  timers[0]!.fire(); // the wait was made longer meanwhile
  assertEquals([woken, timers.length], [0, 2]);
  source.whenReady(waiter, 0);
  timers[1]!.fire();
  assertEquals([woken, timers.length], [1, 2]);
  // nobody waits any more
  source.whenReady(waiter, untilTick);
  state.waiter!.wake();
  assertEquals([woken, timers.length], [2, 3]);
  timers[2]!.fire();
  assertEquals([woken, timers.length], [2, 3]);
  // without a time that it is to be woken at, one that fires late is the last
  source.whenReady(waiter, untilTick);
  source.whenReady(waiter);
  timers[3]!.fire();
  assertEquals([woken, timers.length], [2, 4]);
  source.whenReady(waiter, untilTick);
  source.close();
  assertEquals(timers.map(({ isDismissed }) => isDismissed), [false, false, false, false, true]);
});
