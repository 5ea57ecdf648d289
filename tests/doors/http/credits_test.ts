import fc from "fast-check";
import { creditUsage } from "../../../src/doors/http/credits.ts";
import { BUDGET_PERIODS, setBudget } from "../../../src/money/ledger/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
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

Deno.test("lots are shown to who pays by them, not to who pays by a team's pool; days and hours are within bounds (table)", async () => {
  await using bench = await ledgerBench("file");
  const { accountId, keyId } = await bench.account();
  await bench.grant(accountId, 100);
  await bench.grant(accountId, 50, FROM + 90 * 24 * HOUR);
  const of = (more: object, query = "") =>
    creditUsage(bench.database, {
      caller: { accountId, keyId, teamId: null, memberId: null, hasBudget: false, ...more },
      query: new URLSearchParams(query),
      nowMs: FROM,
    });
  for (
    const [more, isShown] of [
      [{}, true],
      [{ teamId: "t", memberId: accountId }, true],
      [{ teamId: "t", memberId: "member" }, false],
      [{ memberId: "member" }, true],
    ] as const
  ) {
    const { lots, credits_remaining: left, average_tokens_per_request: mean, requests } = await of(
      more,
    );
    const what = JSON.stringify(more);
    assertEquals([left, requests, mean], [150, 0, 0], what);
    assertEquals(
      lots.map(({ remaining, expires_at: end }) => [remaining, end]).toSorted(),
      isShown ? [[100, null], [50, new Date(FROM + 90 * 24 * HOUR).toISOString()]] : [],
      what,
    );
  }
  for (
    const [query, param] of [
      ["days=1&hours=1", undefined],
      ["days=366&hours=744", undefined],
      ["days=0", "days"],
      ["days=367", "days"],
      ["days=x", "days"],
      ["hours=745", "hours"],
      ["hours=1.5", "hours"],
    ] as const
  ) {
    if (param === undefined) {
      assertEquals((await of({}, query)).object, "credit_usage");
      continue;
    }
    const { reason, param: said } = await assertRejects(() => of({}, query), Refusal);
    assertEquals([reason, said], ["request_invalid", param], query);
  }
});
