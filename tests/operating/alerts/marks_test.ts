/** When what expires has reached a mark, to the millisecond, and what alerts say. */

import fc from "fast-check";
import { circuitConditions } from "../../../src/operating/alerts/circuits.ts";
import { departureAlerts } from "../../../src/operating/alerts/departures.ts";
import {
  budgetMark,
  EXPIRY_MS,
  keyExpiringMark,
  lotExpiringMark,
  lowCreditsMark,
} from "../../../src/operating/alerts/marks.ts";
import { DAY_MS } from "../../../src/ground/time.ts";
import { assert, assertEquals } from "../../assert.ts";

const ADA = { email: "ada@example.com" };
const NOW = Date.UTC(2026, 4, 1);

const lot = (lifeMs: number, leftMs: number) => ({
  id: "lot_1",
  accountId: "acc_1",
  remaining: 1,
  createdAtMs: NOW + leftMs - lifeMs,
  expiresAtMs: NOW + leftMs,
});

/** The mark of what lives this long and has this long left: `7d`, `1d` or none. */
const markOf = (lifeMs: number, leftMs: number) =>
  lotExpiringMark(lot(lifeMs, leftMs), ADA, NOW)?.mark.split(":")[2];

Deno.test("what expires reaches its marks a week and a day before, if it lives longer than that", () => {
  const [day, week] = [DAY_MS, 7 * DAY_MS];
  const cases: readonly (readonly [lifeMs: number, leftMs: number, mark: string | undefined])[] = [
    [30 * day, week + 1, undefined],
    [30 * day, week, "7d"],
    [30 * day, day + 1, "7d"],
    [30 * day, day, "1d"],
    [30 * day, 1, "1d"],
    [30 * day, 0, undefined],
    [30 * day, -1, undefined],
    // a life of a week does not end within a week from its beginning
    [week, week, undefined],
    [week, day + 1, undefined],
    [week, day, "1d"],
    [week + 1, week, "7d"],
    [day, day, undefined],
    [day, 1, undefined],
    [day + 1, day, "1d"],
  ];
  for (const [lifeMs, leftMs, mark] of cases) {
    assertEquals(markOf(lifeMs, leftMs), mark, `${lifeMs} ms, ${leftMs} left`);
  }
  assertEquals(EXPIRY_MS, week);
});

Deno.test("marks are reached in one order, and none after the end (property)", () => {
  const ms = fc.integer({ min: -DAY_MS, max: 40 * DAY_MS });
  fc.assert(fc.property(ms, ms, fc.integer({ min: 1, max: 60 * DAY_MS }), (a, b, lifeMs) => {
    const order = [undefined, "7d", "1d"];
    const [less, more] = [Math.min(a, b), Math.max(a, b)];
    const [late, early] = [markOf(lifeMs, less), markOf(lifeMs, more)];
    assert(less <= 0 || order.indexOf(late) >= order.indexOf(early), `${late} after ${early}`);
    if (less <= 0) assertEquals(late, undefined);
  }));
});

Deno.test("a key is named by its name or else its end; numbers have their noun", () => {
  const key = { ...lot(30 * DAY_MS, DAY_MS), id: "key_1", name: "ci", hint: "sk-…1234" };
  const texts = (name: string) => keyExpiringMark({ ...key, name }, ADA, NOW)!;
  assertEquals(texts("ci").title, "Key expires within a day: ci");
  assertEquals(texts("").title, "Key expires within a day: sk-…1234");
  assertEquals(texts("ci").mark, `key_expiring:key_1:${key.expiresAtMs}:1d`);
  assertEquals(
    texts("ci").text,
    "The key ci of ada@example.com expires on 2026-05-02 00:00 UTC.",
  );
  const left = (balance: number) =>
    lowCreditsMark({ accountId: "acc_1", balance, lotId: "lot_1", granted: 1_500 }, ADA).text;
  assertEquals(left(1), "ada@example.com has 1 credit left. The newest grant was 1,500 credits.");
  assertEquals(left(0), "ada@example.com has 0 credits left. The newest grant was 1,500 credits.");
});

Deno.test("the alert of a budget says when it renews, and how much it is with its raise", () => {
  const budget = { id: "b", startsAtMs: 0, spent: 80, credits: 100, raise: null };
  const of = (more: object) =>
    budgetMark({ ...budget, ...more } as unknown as Parameters<typeof budgetMark>[0], {
      name: "the key ci",
      accountId: null,
      teamId: null,
    }, 80);
  const once = of({ period: "life", renewsAtMs: null });
  assertEquals(
    once.text,
    "80 credits of the lifetime budget of 100 credits of the key ci are spent. It does not renew.",
  );
  assertEquals([once.data.renews_at, once.data.credits], [null, 100]);
  const raise = { credits: 1_000, untilMs: NOW };
  const monthly = of({ period: "month", renewsAtMs: NOW, raise });
  assertEquals(
    monthly.text,
    "80 credits of the monthly budget of 1,100 credits of the key ci are spent. It renews on 2026-05-01 00:00 UTC.",
  );
  assertEquals([monthly.data.renews_at, monthly.data.credits], ["2026-05-01T00:00:00.000Z", 1_100]);
});

Deno.test("usage that cannot be true is an alert from five replies and a fiftieth of all on", () => {
  const cases = [[5, 250], [5, 251], [5, 5], [4, 4], [0, 0], [6, 300], [6, 301]] as const;
  const upstreams = cases.map(([departed, attempts], at) => ({
    name: `u${at}`,
    // two minutes of the hour
    activity: {
      minutes: [{ departed, attempts: 0, failed: 0 }, { departed: 0, attempts, failed: 0 }],
      latencies: [],
    },
  })) as unknown as Parameters<typeof departureAlerts>[0];
  assertEquals(departureAlerts(upstreams, NOW).map(({ data }) => data.upstream), [
    "u0",
    "u2",
    "u5",
  ]);
});

Deno.test("each target whose circuit is open is a condition, with what it failed with", () => {
  const states = [
    { name: "a", failingModels: ["m", "n"], lastFailure: { detail: "status 500" } },
    { name: "b", failingModels: [], lastFailure: { detail: "status 500" } },
    { name: "c", failingModels: ["m"], lastFailure: undefined },
  ] as unknown as Parameters<typeof circuitConditions>[0];
  assertEquals(circuitConditions(states).map(({ name, detail }) => [name, detail]), [
    ["circuit:a/m", "status 500"],
    ["circuit:a/n", "status 500"],
    ["circuit:c/m", "unknown"],
  ]);
});
