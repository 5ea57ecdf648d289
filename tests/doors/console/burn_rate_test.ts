import { burnRateOf, comparedMonths } from "../../../src/doors/console/burn_rate.ts";
import { dollars, smallDollars } from "../../../src/doors/console/dollars.ts";
import { lasting, monthWords } from "../../../src/doors/console/pages/home_words.ts";
import { newRequestId } from "../../../src/ground/platform/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { settlePrice } from "../../fake/ledger.ts";
import { signedIn } from "../../fake/visitor.ts";

const DAY_MS = 86_400_000;
const TODAY = Date.UTC(2026, 10, 23);
const NOW = TODAY + DAY_MS / 2;
const LOT = { id: "lot", remaining: 700, expiresAtMs: null };

function spent(...byDaysAgo: readonly number[]): ReadonlyMap<number, number> {
  return new Map(byDaysAgo.map((credits, ago) => [TODAY - ago * DAY_MS, credits]));
}

Deno.test("the rate is of the last seven full days: neither today nor the day before them counts", () => {
  const rate = burnRateOf(spent(9_999, 100, 0, 300, 0, 0, 0, 300, 9_999), {
    createdAtMs: 0,
    lots: [LOT],
    nowMs: NOW,
  });
  assertEquals(rate, {
    days: 7,
    creditsPerDay: 100,
    daysLeft: 7,
    lastsLonger: false,
    unspent: new Map(),
  });
});

Deno.test("a young account has a rate of the full days that it has, and none before the first", () => {
  const of = (createdAtMs: number, by = spent(50, 10, 30, 70)) =>
    burnRateOf(by, { createdAtMs, lots: [LOT], nowMs: NOW });
  assertEquals(of(NOW), undefined);
  assertEquals(of(TODAY - 1), undefined); // yesterday was not a full day
  assertEquals(of(TODAY - DAY_MS)?.days, 1);
  assertEquals(of(TODAY - DAY_MS)?.creditsPerDay, 10);
  assertEquals(of(TODAY - 2 * DAY_MS - 1)?.creditsPerDay, 20);
});

Deno.test("nothing spent says nothing of days; much for little is at most a year", () => {
  const of = (by: ReadonlyMap<number, number>, remaining: number) =>
    burnRateOf(by, { createdAtMs: 0, lots: [{ ...LOT, remaining }], nowMs: NOW });
  assertEquals(of(spent(5), 700)?.daysLeft, undefined);
  assertEquals([of(spent(0, 7), 1e9)?.daysLeft, of(spent(0, 7), 1e9)?.lastsLonger], [365, true]);
  assertEquals([of(spent(0, 7), 365)?.daysLeft, of(spent(0, 7), 365)?.lastsLonger], [365, false]);
  assertEquals(of(spent(0, 7), 0)?.daysLeft, 0);
});

Deno.test("what expires before its turn is not counted on, and is named", () => {
  const rate = burnRateOf(spent(0, ...Array.from({ length: 7 }, () => 100)), {
    createdAtMs: 0,
    nowMs: NOW,
    lots: [
      { id: "a", remaining: 500, expiresAtMs: NOW + 2 * DAY_MS }, // 200 of them are spent
      { id: "b", remaining: 500, expiresAtMs: NOW + 3 * DAY_MS }, // 100 in the day that is left
      { id: "c", remaining: 100, expiresAtMs: NOW + 3 * DAY_MS }, // none
      { id: "d", remaining: 50, expiresAtMs: null },
    ],
  })!;
  assertEquals([...rate.unspent], [["a", 300], ["b", 400], ["c", 100]]);
  assertEquals(rate.daysLeft, 3.5);
});

Deno.test("a month until now is compared with as much of the month before", () => {
  const of = (nowMs: number) => {
    const { thisSinceMs, lastSinceMs, lastUntilMs } = comparedMonths(nowMs);
    return [thisSinceMs, lastSinceMs, lastUntilMs].map((ms) => new Date(ms).toISOString());
  };
  assertEquals(of(Date.UTC(2026, 10, 23, 7)), [
    "2026-11-01T00:00:00.000Z",
    "2026-10-01T00:00:00.000Z",
    "2026-10-23T07:00:00.000Z",
  ]);
  // February has no 31st
  assertEquals(of(Date.UTC(2026, 2, 31, 7))[2], "2026-03-01T00:00:00.000Z");
  assertEquals(of(Date.UTC(2026, 0, 1))[1], "2025-12-01T00:00:00.000Z");
});

Deno.test("dollars have cents, and a little is not nothing", () => {
  assertEquals([0, 1, 12_345, 1_234_500, -2_000].map((credits) => dollars(credits, 1_000)), [
    "$0.00",
    "<$0.01",
    "$12.35",
    "$1,234.50",
    "−$2.00",
  ]);
  // the price of a request is often less than a cent
  assertEquals([0, 5, 12.34, 131, 0.01, 1_234_500].map((credits) => smallDollars(credits, 1_000)), [
    "$0.00",
    "$0.005",
    "$0.0123",
    "$0.131",
    "<$0.0001",
    "$1,234.50",
  ]);
});

Deno.test("home says how long credits last, and nothing silly without a rate", () => {
  const rate = {
    days: 7,
    creditsPerDay: 75.4,
    daysLeft: 22.9,
    lastsLonger: false,
    unspent: new Map(),
  };
  const of = (more: Partial<typeof rate> | { daysLeft: undefined }, balance = 100) =>
    Object.values(lasting({ ...rate, ...more }, balance)).join(": ");
  assertEquals(of({}), "22 days: at this rate: 75 credits a day in the last 7 full days");
  assertEquals(of({ daysLeft: 0.4, creditsPerDay: 0.25, days: 1 }).split(":")[0], "under a day");
  assertEquals(
    of({ daysLeft: 1, creditsPerDay: 10 }),
    "1 day: at this rate: 10 credits a day in the last 7 full days",
  );
  assertEquals(of({ daysLeft: 365, lastsLonger: true }).split(":")[0], "over a year");
  assertEquals(of({ daysLeft: undefined }), "–: nothing spent in the last 7 full days");
  assertEquals(of({}, 0), "–: no credits left");
  assertEquals(lasting(undefined, 5).note, "known after your first full day");
});

Deno.test("a month is compared with the same days of the one before, where there is one", () => {
  const month = {
    credits: 150,
    requests: 3,
    before: 100 as number | undefined,
    beforeSinceMs: Date.UTC(2026, 9, 1),
    beforeUntilMs: Date.UTC(2026, 9, 23, 7),
  };
  const of = (more: Partial<typeof month>, perUsd?: number) =>
    monthWords({ ...month, ...more }, perUsd).note;
  assertEquals(of({}), "3 requests; 50\u00a0% more than on 1–23 Oct (100)");
  assertEquals(of({ credits: 99 }), "3 requests; 1\u00a0% less than on 1–23 Oct (100)");
  assertEquals(of({ credits: 100 }), "3 requests; as much as on 1–23 Oct (100)");
  assertEquals(of({ before: 0 }), "3 requests; nothing on 1–23 Oct");
  assertEquals(of({ before: undefined, requests: 1 }, 100), "$1.50, 1 request");
  assertEquals(
    of({ beforeUntilMs: Date.UTC(2026, 9, 1, 5), before: 0 }),
    "3 requests; nothing on 1 Oct",
  );
});

Deno.test("Home compares the month of a user who has used the gateway in the one before, or another from which they were imported (table)", async () => {
  await using gateway = await startGateway({ now: () => NOW });
  const { accounts, database, keys, sales } = gateway.gateway;
  const EARLIER = [
    [Date.UTC(2026, 8, 28), 5], // before the month that is compared
    [Date.UTC(2026, 9, 10), 60],
    [Date.UTC(2026, 9, 23, 11), 40],
    [Date.UTC(2026, 9, 23, 13), 999], // later than now of that day
  ] as const;
  const TODAY_AT_SIX = [TODAY + DAY_MS / 4, 150] as const;
  for (
    const [name, createdAtMs, uses, words] of [
      ["imported", NOW, [...EARLIER, TODAY_AT_SIX], "50\u00a0% more than on 1–23 Oct (100)"],
      ["new", NOW, [TODAY_AT_SIX], undefined],
      ["silent", Date.UTC(2026, 8, 1), [TODAY_AT_SIX], "nothing on 1–23 Oct"],
    ] as const
  ) {
    const account = await accounts.create({ email: `${name}@example.com` });
    const { id: keyId } = await keys.issue(account);
    await sales.grant(account, { credits: 5_000 });
    await database.batch([{
      sql: "update accounts set created_at_ms = ? where id = ?",
      args: [createdAtMs, account.id],
    }]);
    for (const [nowMs, price] of uses) {
      const requestId = newRequestId(nowMs);
      await settlePrice(database, { requestId, accountId: account.id, keyId, price, nowMs });
    }
    const home = await (await (await signedIn(gateway, account.email)).get("/console/")).text();
    assertEquals(/1 request; ([^<]*Oct[^<]*)/.exec(home)?.[1], words, name);
    assert(home.includes("1 request"), name);
  }
});
