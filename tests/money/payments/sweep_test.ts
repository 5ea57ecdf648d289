/** What a sweep asks for, says and notes; none begins when the gateway is over. */

import { DatabaseError } from "../../../src/ground/database/mod.ts";
import { PaymentSweep } from "../../../src/money/payments/sweep.ts";
import { assertEquals } from "../../assert.ts";

const NOW = Date.UTC(2030, 0, 1);
const NOTHING = {
  asked: 0,
  changed: 0,
  events: 0,
  collected: 0,
  orphans: [],
  faults: [] as string[],
};

/** A sweep of payments that are counted only. */
function bench() {
  const uses: string[] = [];
  const logged: string[] = [];
  const found = { now: NOTHING, error: undefined as Error | undefined };
  const used = <T>(what: string, value: T) => {
    uses.push(what);
    return found.error === undefined ? Promise.resolve(value) : Promise.reject(found.error);
  };
  const payments = {
    reconcile: ({ eventsSinceMs }: { eventsSinceMs?: number }) =>
      used(eventsSinceMs === undefined ? "orders" : `events for ${NOW - eventsSinceMs}`, found.now),
    swept: () => used("swept", undefined),
    runTopUps: () => used("top-ups", 0),
  };
  const log = (level: string) => (message: string, { error }: { error?: string }) =>
    void logged.push([level, message, ...error === undefined ? [] : [error]].join(" "));
  const sweep = new PaymentSweep(() => payments as never, {
    log: { warn: log("warn"), error: log("error") } as never,
    now: () => NOW,
    toppedUp: () => used("told", undefined) as Promise<void>,
  });
  return { sweep, uses, logged, found };
}

Deno.test("every twentieth sweep reads the events of 26 hours, and one without faults is noted", async () => {
  const { sweep, uses } = bench();
  for (let count = 0; count < 21; count++) await sweep.sweep();
  const day = `events for ${26 * 3_600_000}`;
  const kinds = uses.filter((use) => use !== "swept");
  assertEquals(kinds.map((kind) => kind === day), kinds.map((_, at) => at % 20 === 0));
  assertEquals([kinds.length, uses.length], [21, 42]);
  await sweep[Symbol.asyncDispose]();
});

Deno.test("what a sweep finds is said, and what it could not ask", async () => {
  const { sweep, uses, logged, found } = bench();
  const says = async (now: Partial<typeof NOTHING>, error?: Error) => {
    found.now = { ...NOTHING, ...now };
    found.error = error;
    await sweep.sweep();
    return [logged.splice(0), uses.splice(0).includes("swept")];
  };
  const brought = ["warn payments found that no webhook had brought"];
  assertEquals(await says({ asked: 3 }), [[], true]);
  for (const what of ["changed", "events", "collected"]) {
    assertEquals(await says({ [what]: 1 }), [brought, true], what);
  }
  assertEquals(await says({ faults: ["one", "two"] }), [
    ["warn payments not swept one", "warn payments not swept two"],
    false,
  ]);
  const full = new DatabaseError("SQLITE_FULL", "it is full");
  assertEquals(await says({}, full), [["error payments not swept it is full"], false]);
  const ours = new TypeError("ours");
  assertEquals(await says({}, ours), [["error payments not swept TypeError: ours"], false]);
  await sweep.topUp();
  assertEquals(logged, ["error automatic top-ups failed TypeError: ours"]);
  await sweep[Symbol.asyncDispose]();
});

Deno.test("each minute buys, each third sweeps, and nothing begins once it is over", async () => {
  const { sweep, uses } = bench();
  const ticks: (() => void)[] = [];
  const real = globalThis.setInterval;
  globalThis.setInterval = ((tick: () => void) => ticks.push(tick)) as never;
  try {
    sweep.start();
  } finally {
    globalThis.setInterval = real;
  }
  for (let minute = 0; minute < 6; minute++) ticks[0]!();
  await sweep.topUp(); // after what is in progress
  assertEquals(uses.filter((use) => use === "top-ups").length, 7);
  assertEquals(uses.filter((use) => use === "swept").length, 2);
  assertEquals(uses.slice(0, 5), ["top-ups", "told", "top-ups", "told", "top-ups"]);
  uses.length = 0;
  await sweep[Symbol.asyncDispose]();
  await sweep.topUp();
  await sweep.sweep();
  assertEquals(uses, []);
});
