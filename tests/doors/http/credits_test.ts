import fc from "fast-check";
import { creditUsage } from "../../../src/doors/http/credits.ts";
import { BUDGET_PERIODS, setBudget } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { sized } from "../../tier.ts";

const FROM = Date.UTC(2030, 0, 2, 12);
const HOUR = 3_600_000;

Deno.test("a key's budgets are reported in the period of now, whether or not a request has opened it", async () => {
  await using bench = await ledgerBench("file");
  const { accountId, keyId } = await bench.account();
  for (const period of BUDGET_PERIODS) {
    const terms = { owner: "key", ownerId: keyId, period, credits: 100 } as const;
    await setBudget(bench.database, terms, { nowMs: FROM });
  }
  let nowMs = FROM;
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 2_000 }), async (hours) => {
      nowMs += hours * HOUR;
      const { budgets } = await creditUsage(bench.database, {
        caller: { accountId, keyId, teamId: null, memberId: null, hasBudget: true },
        query: new URLSearchParams(),
        nowMs,
      });
      assertEquals(budgets.map(({ period }) => period), BUDGET_PERIODS.slice());
      for (const { period, starts_at: from, renews_at: until } of budgets) {
        if (period === "life") assertEquals([from, until], [null, null]);
        else assert(Date.parse(from!) <= nowMs && nowMs < Date.parse(until!), `${from} ${until}`);
      }
    }),
    { numRuns: sized(10, 100) },
  );
});
