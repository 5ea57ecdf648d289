/** What accounts have used, as pages, statements and `GET /user/credits` read it, is the sum of their records. */

import { readTogether } from "../../../src/ground/database/mod.ts";
import { accountUsage, SpentByKey, untilNow, usageReading } from "../../../src/money/usage/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { watchPlans } from "../../fake/plans.ts";
import { possible } from "../../fake/ledger.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { type Known, NOW, START, usageHistory } from "../../fake/usage_history.ts";
import { sized } from "../../tier.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const NOUNS = {
  hour: ({ startedAtMs }: Known) => Math.floor(startedAtMs / HOUR) * HOUR,
  day: ({ startedAtMs }: Known) => Math.floor(startedAtMs / DAY) * DAY,
  model: ({ route }: Known) => route,
  key: ({ keyId }: Known) => keyId,
  account: ({ accountId }: Known) => accountId,
};
type Noun = keyof typeof NOUNS;

function sumsOf(records: readonly Known[]) {
  const sum = (of: (record: Known) => number) => records.reduce((all, one) => all + of(one), 0);
  return {
    requests: records.length,
    errors: sum(({ ending }) => ending === "complete" ? 0 : 1),
    input_tokens: sum(({ inputTokens }) => inputTokens),
    cached_tokens: sum(({ cachedTokens }) => cachedTokens),
    output_tokens: sum(({ outputTokens }) => outputTokens),
    duration_ms: sum(({ durationMs }) => durationMs),
    credits: sum(({ priceCredits }) => priceCredits),
    saved_millionths: sum(({ cachedTokens }) => cachedTokens * 600_000),
  };
}

for (const kind of possible(["file", ...sized<"postgres"[]>([], ["postgres"])])) {
  Deno.test(`usage of accounts and keys, by anything within any hours, is the sum of their records (${kind})`, async () => {
    const seed = testSeed();
    const random = new Random(seed);
    await using made = await usageHistory(random, sized(200, 500), kind);
    const { parts: { database }, records, issued } = made;
    const payers = [...new Set(issued.map(({ accountId }) => accountId))];
    const some = <T>(all: readonly T[]) => all.filter(() => random.next() < 0.6);
    const query = () => {
      const [a, b] = [random.integer(-48, 47 * 24), random.integer(-48, 47 * 24)];
      const whole = random.pick([DAY, HOUR, HOUR / 4]); // pages ask for days, mostly
      const [sinceMs, untilMs] = [Math.min(a, b), Math.max(a, b)]
        .map((hours) => Math.floor((START + (hours + 0.3) * HOUR) / whole) * whole) as [
          number,
          number,
        ];
      return {
        accountIds: some(payers),
        keyIds: random.next() < 0.5 ? undefined : some(issued).map(({ id }) => id),
        by: some(Object.keys(NOUNS) as Noun[]),
        sinceMs,
        untilMs: random.next() < 0.2 ? untilNow(NOW) : untilMs,
      };
    };
    for (let round = 0; round < sized(60, 1_500); round++) {
      const queries = [query(), query()] as const;
      const found = await readTogether(database, {
        one: usageReading(queries[0]),
        other: usageReading(queries[1]),
      });
      for (const [at, usage] of [found.one, found.other].entries()) {
        const { accountIds, keyIds, by, sinceMs, untilMs } = queries[at]!;
        const wanted = records.filter((one) =>
          accountIds.includes(one.accountId) && keyIds?.includes(one.keyId) !== false &&
          NOUNS.hour(one) >= sinceMs && NOUNS.hour(one) < untilMs
        );
        const groups = Map.groupBy(
          wanted,
          (one) => JSON.stringify(by.map((name) => NOUNS[name](one))),
        );
        const expected = [...groups.values()].map((own) => ({
          ...Object.fromEntries(by.map((name) => [name, NOUNS[name](own[0]!)])),
          ...sumsOf(own),
        }));
        const what = JSON.stringify({ seed, ...queries[at] });
        assertEquals(usage.map(textOf).toSorted(), expected.map(textOf).toSorted(), what);
        const keys = usage.map((row) => by.map((name) => row[name]));
        const isOrdered = keys.every((key, at) => at === 0 || isLess(keys[at - 1]!, key));
        assert(isOrdered, what);
      }
    }
  });
}

function textOf(row: object): string {
  return JSON.stringify(Object.entries(row).toSorted(([a], [b]) => a < b ? -1 : 1));
}

function isLess(a: readonly (string | number)[], b: readonly (string | number)[]): boolean {
  const at = a.findIndex((value, place) => value !== b[place]);
  return at >= 0 && a[at]! < b[at]!;
}

Deno.test("what keys have spent is the sum of all their records, and is read once of each payer", async () => {
  await using made = await usageHistory(new Random(testSeed()), sized(120, 300));
  const { parts, records, issued, ada } = made;
  const { database, plans } = watchPlans(parts.database);
  const spent = new SpentByKey(database);
  const payers = issued.map(({ accountId }) => accountId);
  await spent.of([ada.id]);
  const [all] = [await spent.of(payers), await spent.of(payers)];
  const expected = Map.groupBy(records, ({ keyId }) => keyId);
  assertEquals(
    Object.fromEntries(all),
    Object.fromEntries([...expected].map(([id, own]) => [id, sumsOf(own).credits])),
  );
  assertEquals(plans.length, 2);
  const whole = await accountUsage(parts.database, {
    accountIds: payers,
    by: ["key"],
    sinceMs: START - DAY,
    untilMs: untilNow(NOW),
  });
  assertEquals(
    new Map(whole.map(({ key, credits }) => [key, credits])),
    new Map([...all].toSorted()),
  );
});
