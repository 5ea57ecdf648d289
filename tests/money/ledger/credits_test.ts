/** What has expired leaves a balance when it is looked at, to the millisecond, and nothing else is written for a look. */

import {
  creditsOf,
  expireLots,
  grantStatements,
  renewHolds,
  takeableOf,
  takeBack,
} from "../../../src/money/ledger/mod.ts";
import { NEVER } from "../../../src/ground/time.ts";
import type { Database } from "../../../src/ground/database/mod.ts";
import { assertEquals } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { ledgerBench } from "../../fake/ledger.ts";

const NOW = Date.UTC(2030, 0, 1);

const expired = async (database: Database) =>
  (await database.all(
    "select account_id, credits, at_ms from entries where kind = 'expire' order by at_ms",
  )).map(({ account_id, credits, at_ms }) => [account_id, credits, at_ms]);

Deno.test("a look takes out what has expired by then, once, and writes nothing where nothing has", async () => {
  await using bench = await ledgerBench("file");
  const { accountId } = await bench.account();
  const { accountId: other } = await bench.account();
  await bench.grant(accountId, 1, NOW);
  await bench.grant(accountId, 10, NOW + 1);
  await bench.grant(accountId, 100, NOW + 1_000);
  await bench.grant(accountId, 1_000, null);
  await bench.grant(other, 5, NOW);
  const uses: string[] = [];
  const database = guardedDatabase(bench.database, (use) => uses.push(use));
  const look = async (nowMs: number, id = accountId) => {
    uses.length = 0;
    const { balance, lots } = await creditsOf(database, id, nowMs);
    return [
      balance,
      lots.map(({ remaining, expiresAtMs }) => [remaining, expiresAtMs]),
      uses.includes("batch"),
    ];
  };
  const [day, all] = [[100, NOW + 1_000], [1_000, null]];
  assertEquals(await look(NOW - 1), [1_111, [[1, NOW], [10, NOW + 1], day, all], false]);
  assertEquals(await look(NOW), [1_110, [[10, NOW + 1], day, all], true]);
  assertEquals(await look(NOW), [1_110, [[10, NOW + 1], day, all], false]);
  assertEquals(await look(NOW + 1), [1_100, [day, all], true]);
  assertEquals(await look(NOW + 999), [1_100, [day, all], false]);
  assertEquals(await look(NEVER - 1), [1_000, [all], true]);
  assertEquals(await look(NEVER - 1), [1_000, [all], false]);
  assertEquals(await expired(database), [
    [accountId, -1, NOW],
    [accountId, -10, NOW + 1],
    [accountId, -100, NEVER - 1],
  ]);
  assertEquals(await look(NOW - 1, other), [5, [[5, NOW]], false]);
});

Deno.test("what has expired leaves every balance, and what has not stays", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  const accounts = [await bench.account(), await bench.account(), await bench.account()]
    .map(({ accountId }) => accountId);
  for (const [at, id] of accounts.entries()) {
    await bench.grant(id, 10, NOW + at);
    await bench.grant(id, 100, null);
  }
  const balances = async () =>
    (await database.all(
      "select balance from balances where account_id in (?, ?, ?)",
      [
        ...accounts,
      ],
    )).map(({ balance }) => balance);
  for (const [atMs, expected] of [[-1, 330], [0, 320], [0, 320], [1, 310], [5, 300]] as const) {
    await expireLots(database, NOW + atMs);
    assertEquals((await balances()).reduce((sum: number, one) => sum + Number(one), 0), expected);
  }
  assertEquals(await expired(database), [
    [accounts[0], -10, NOW],
    [accounts[1], -10, NOW + 1],
    [accounts[2], -10, NOW + 5],
  ]);
});

Deno.test("what is left of a lot is told of its own account's, and no hold of nothing is renewed", async () => {
  await using bench = await ledgerBench("file");
  const { accountId } = await bench.account();
  const { accountId: other } = await bench.account();
  const nothing = { lotId: "lot_0", accountId, source: "grant", credits: 0, atMs: NOW } as const;
  assertEquals(grantStatements({ ...nothing, expiresAtMs: null }), []);
  const lotId = await bench.grant(accountId, 7);
  assertEquals(await takeableOf(bench.database, { accountId, lotId }), 7);
  assertEquals(await takeableOf(bench.database, { accountId: other, lotId }), undefined);
  assertEquals(await takeableOf(bench.database, { accountId, lotId: "lot_none" }), undefined);
  const back = { id: "take_back_1", lotId, note: "x", atMs: NOW, patienceMs: 0 };
  assertEquals(await takeBack(bench.database, { ...back, accountId: other }), undefined);
  for (const isRepeated of [false, true]) {
    assertEquals(await takeBack(bench.database, { ...back, accountId, credits: 3 }), {
      lotId,
      credits: 3,
      wanted: 3,
      bonusCredits: 0,
      isRepeated,
    });
  }
  const rest = await takeBack(bench.database, { ...back, id: "take_back_2", accountId });
  assertEquals([rest?.credits, rest?.wanted], [4, undefined]);
  const uses: string[] = [];
  await renewHolds(guardedDatabase(bench.database, (use) => uses.push(use)), [], 60_000);
  assertEquals(uses, []);
});
