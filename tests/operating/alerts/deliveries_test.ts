/** Whom a gateway delivers to, and when again, with an outbox that only counts. */

import { Deliveries } from "../../../src/operating/alerts/deliveries.ts";
import type { Claim } from "../../../src/operating/alerts/outbox.ts";
import { settings } from "../../../src/settings/config/mod.ts";
import { assertEquals } from "../../assert.ts";
import { until } from "../../fake/temp.ts";

/** Deliveries to a receiver whose address is not allowed, so that each fails at once. */
function failing({ firstPauseMs = 1e9 } = {}) {
  const receivers = { ops: { url: "https://127.0.0.1/", kind: "slack" } } as const;
  let { alerts } = settings.parse({ alerts: { receivers } });
  let isLost = false;
  const seen = {
    claims: 0,
    finished: 0,
    logged: [] as unknown[],
    counted: [] as unknown[],
  };
  const outcomes: (() => Promise<number>)[] = [];
  let claim: () => Promise<Claim | undefined> = () =>
    Promise.resolve({ receiver: "ops", token: "t", alerts: [] });
  const log = (level: string) => (what: string, more: Record<string, unknown>) =>
    seen.logged.push([level, what, more.given_up]);
  const deliveries = new Deliveries(
    {
      outbox: {
        firstPauseMs,
        claim: () => ++seen.claims > 9 ? Promise.resolve(undefined) : claim(), // not for ever
        finish: () => (seen.finished++, outcomes.shift()?.() ?? Promise.resolve(0)),
      },
      settings() {
        const present = alerts;
        if (isLost) alerts = { ...alerts, receivers: {} };
        return present;
      },
      resolve: () => Promise.resolve([]),
      log: { warn: log("warn"), error: log("error") },
      metrics: { alertDeliveries: (...counted: unknown[]) => seen.counted.push(counted) },
      now: () => 0,
    } as unknown as ConstructorParameters<typeof Deliveries>[0],
  );
  return {
    deliveries,
    seen,
    outcomes,
    claimed: (next: typeof claim) => claim = next,
    /** Has the settings without receivers from the second time on that they are read. */
    losesReceivers: () => isLost = true,
    /** Delivers once, and waits for the end of it. */
    async once() {
      const { length } = seen.logged;
      deliveries.wake();
      await until(() => seen.logged.length > length, { what: "the outcome" });
    },
  };
}

Deno.test("a receiver has one delivery at a time, and none while it is left alone", async () => {
  const { deliveries, seen, claimed } = failing();
  const held = Promise.withResolvers<Claim | undefined>();
  claimed(() => held.promise);
  for (let time = 0; time < 3; time++) deliveries.wake();
  assertEquals(seen.claims, 1);
  held.resolve(undefined);
  await held.promise;
  claimed(() => Promise.resolve({ receiver: "ops", token: "t", alerts: [] }));
  await until(() => (deliveries.wake(), seen.claims > 1), { what: "the next claim" });
  await until(() => seen.logged.length > 0, { what: "its outcome" });
  assertEquals(seen.claims, 2);
  deliveries.wake();
  assertEquals(seen.claims, 2, "it has failed");
  assertEquals(seen.logged, [["warn", "alerts were not delivered", undefined]]);
  await deliveries.close();
  const closed = failing();
  await closed.deliveries.close();
  closed.deliveries.wake();
  assertEquals(closed.seen.claims, 0);
  const soon = failing({ firstPauseMs: 1 });
  await soon.once();
  await until(() => (soon.deliveries.wake(), soon.seen.claims > 1), { what: "the next attempt" });
  await soon.deliveries.close();
});

Deno.test("a receiver that the settings have lost is not delivered to any more", async () => {
  const { deliveries, seen, losesReceivers } = failing();
  losesReceivers();
  deliveries.wake();
  await deliveries.close();
  assertEquals([seen.claims, seen.logged], [0, []]);
});

Deno.test("deliveries that are given up are an error and are counted, others that fail a warning", async () => {
  const what = "alerts were not delivered";
  for (const [givenUp, level] of [[0, "warn"], [2, "error"]] as const) {
    const { deliveries, seen, outcomes, once } = failing();
    outcomes.push(() => Promise.resolve(givenUp));
    await once();
    await deliveries.close();
    assertEquals(seen.logged, [[level, what, givenUp === 0 ? undefined : givenUp]]);
    assertEquals(seen.counted, [
      ["ops", "failed", 1],
      ...givenUp === 0 ? [] : [["ops", "given_up", givenUp]],
    ]);
  }
});

Deno.test("an outcome is tried to be written until it is, for an hour at most, or until the gateway stops", async () => {
  const away = () => Promise.reject(new Error("away"));
  const back = failing();
  back.outcomes.push(away);
  await back.once();
  assertEquals(back.seen.finished, 2);
  assertEquals(back.seen.logged, [["warn", "alerts were not delivered", undefined]]);
  await back.deliveries.close();

  const stopping = failing();
  stopping.outcomes.push(away, away, away);
  stopping.deliveries.wake();
  await until(() => stopping.seen.finished === 1, { what: "the first attempt" });
  await stopping.deliveries.close();
  assertEquals(stopping.seen.finished, 2, "once more, at the end");
  assertEquals(stopping.seen.logged, [["warn", "alerts could not be delivered", undefined]]);

  const late = failing();
  const own = performance.now;
  late.outcomes.push(() => {
    performance.now = () => own.call(performance) + 3_600_001;
    return away();
  });
  try {
    await late.once();
  } finally {
    performance.now = own;
  }
  assertEquals(late.seen.finished, 1);
  await late.deliveries.close();
});
