/** Low balances, budgets that are used up and lots that expire: page by page, each at its mark. */

import { budgetUses, expiringLots, lowBalances, setBudget } from "../../../src/money/ledger/mod.ts";
import { assertEquals } from "../../assert.ts";
import { ledgerBench, settlePrice } from "../../fake/ledger.ts";

const NOW = Date.UTC(2030, 0, 1, 12);
const DAY = 86_400_000;
const NEVER = Number.MAX_SAFE_INTEGER;

/** All that is found page by page, and how many pages there were. */
async function walked<T>(
  read: (after: string) => Promise<{ readonly found: readonly T[]; next: string | undefined }>,
): Promise<[found: readonly T[], pages: number]> {
  const all: T[] = [];
  let pages = 0;
  for (let after: string | undefined = ""; after !== undefined; pages++) {
    const { found, next } = await read(after);
    all.push(...found);
    after = next;
  }
  return [all, pages];
}

Deno.test("a balance is low at its part of the newest lot or at some credits, or where its account says", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  const low: Record<string, boolean> = {};
  const own: Record<string, number> = {};
  for (
    const [granted, left, isLow, ownCredits] of [
      [1_000, 100, true, undefined],
      [1_000, 101, false, undefined],
      [50, 20, true, undefined],
      [50, 21, false, undefined],
      [1_000, 500, true, 500],
      [1_000, 1, false, 0],
    ] as const
  ) {
    const caller = await bench.account();
    await bench.grant(caller.accountId, granted, null, NOW);
    const requestId = `req_${crypto.randomUUID()}`;
    await settlePrice(database, { ...caller, requestId, price: granted - left, nowMs: NOW });
    if (isLow) low[caller.accountId] = true;
    if (ownCredits !== undefined) own[caller.accountId] = ownCredits;
  }
  const { n } = (await database.one("select count(*) as n from balances"))!;
  for (const limit of [1, 2, Number(n), 100]) {
    const [found, pages] = await walked((after) =>
      lowBalances(database, { after, limit }, { percent: 10, credits: 20, accounts: own })
    );
    const ids = found.map(({ accountId }) => accountId);
    assertEquals(ids, Object.keys(low).toSorted(), `pages of ${limit}`);
    // a full page does not tell that it is the last
    assertEquals(pages, Math.floor(Number(n) / limit) + 1);
  }
});

Deno.test("a budget is found from its lowest mark on, one of nothing never", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  const used: string[] = [];
  for (
    const [credits, spent, isUsed] of [
      [10, 4, false],
      [10, 5, true],
      [10, 30, true],
      [0, 0, false],
    ] as const
  ) {
    const caller = await bench.account();
    await bench.grant(caller.accountId, 100, null, NOW);
    const name = { owner: "key", ownerId: caller.keyId, period: "day" } as const;
    const budget = await setBudget(database, { ...name, credits, marks: [80, 50] }, { nowMs: NOW });
    const requestId = `req_${crypto.randomUUID()}`;
    const at = { nowMs: NOW, admittedAtMs: NOW };
    await settlePrice(database, { ...caller, requestId, price: spent, ...at });
    if (isUsed) used.push(budget.id);
  }
  for (const [limit, pageCount] of [[1, 5], [2, 3], [4, 2], [5, 1]] as const) {
    const [found, pages] = await walked((after) =>
      budgetUses(database, { after, limit, nowMs: NOW })
    );
    assertEquals(found.map(({ id }) => id), used.toSorted(), `pages of ${limit}`);
    assertEquals(pages, pageCount);
  }
});

Deno.test("lots expire within a time: none that is spent, has no end, or ends before or behind it", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  const caller = await bench.account();
  const { accountId } = caller;
  await bench.grant(accountId, 7, NOW + 1);
  const requestId = `req_${crypto.randomUUID()}`;
  await settlePrice(database, { ...caller, requestId, price: 7, nowMs: NOW });
  const lots: string[] = [];
  for (const inMs of [1, 2, DAY, DAY + 1]) {
    lots.push(await bench.grant(accountId, 5, NOW + inMs));
  }
  await bench.grant(accountId, 5, null);
  const between = async (after: { expiresAtMs: number; id: string }, toMs: number, limit = 9) =>
    (await expiringLots(database, { after, toMs, limit })).map(({ id }) => lots.indexOf(id));
  const begin = { expiresAtMs: NOW, id: "" };
  assertEquals(await between(begin, NOW + DAY), [0, 1, 2]);
  assertEquals(await between(begin, NOW + DAY, 2), [0, 1]);
  assertEquals(await between({ expiresAtMs: NOW + 1, id: lots[0]! }, NOW + DAY), [1, 2]);
  assertEquals(await between({ expiresAtMs: NOW + 1, id: "" }, NOW + DAY - 1), [0, 1]);
  assertEquals(await between(begin, NEVER), [0, 1, 2, 3]);
});
