/** What several gateways decide at the same moment on PostgreSQL, which makes decisions beside each other. */

import { assert, assertEquals } from "../../assert.ts";
import { admit, audit, growHold, lend, TierList } from "../../../src/money/ledger/mod.ts";
import { type LedgerBench, ledgerBench, ledgerCaller, settlePrice } from "../../fake/ledger.ts";
import { whyNoPostgres } from "../../fake/postgres.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { until } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

const NOW = 1_000;

const why = await whyNoPostgres();
const ignore = why !== undefined;
const skipped = why === undefined ? "" : ` (skipped: ${why})`;

/** Three gateways at one database, which is closed with the bench. */
async function threeGateways(bench: LedgerBench) {
  await using stack = new AsyncDisposableStack();
  const gateways = [bench.database];
  while (gateways.length < 3) {
    gateways.push(stack.adopt(await bench.connect(), (one) => one.close()));
  }
  const connected = stack.move();
  return { gateways, [Symbol.asyncDispose]: () => connected.disposeAsync() };
}

/** Keys of accounts of their own. */
async function callersOf(
  bench: LedgerBench,
  count: number,
  options: Parameters<typeof ledgerCaller>[1],
) {
  const callers: Awaited<ReturnType<typeof ledgerCaller>>[] = [];
  while (callers.length < count) callers.push(await ledgerCaller(bench, options));
  return callers;
}

// Proves P7.
Deno.test(
  `a limit of 50 requests over three gateways admits 50${skipped}`,
  { ignore },
  async () => {
    await using bench = await ledgerBench("postgres");
    const tierList = new TierList([{ above: 0, minute: 50, hour: 1_000, day: 1_000 }]);
    const { accountId, ask } = await ledgerCaller(bench, { tierList, nowMs: 1_000 });
    await bench.grant(accountId, 1_000_000);
    await using connected = await threeGateways(bench);
    const { gateways } = connected;
    const decided = await Promise.all(
      Array.from({ length: 40 }, () => gateways.map((database) => admit(database, ask(1, 10))))
        .flat(),
    );
    const verdicts = Map.groupBy(decided, ({ verdict }) => verdict);
    assertEquals(
      Object.fromEntries([...verdicts].map(([verdict, all]) => [verdict, all.length])),
      { admitted: 50, rate: 70 },
    );
    const row = await bench.database.one("select held from balances where account_id = ?", [
      accountId,
    ]);
    assertEquals(row?.held, 500);
  },
);

// Proves P1, P7.
Deno.test(
  `sets that several gateways settle at once take each credit once${skipped}`,
  { ignore },
  async () => {
    await using bench = await ledgerBench("postgres");
    const seed = testSeed();
    const random = new Random(seed);
    const tierList = new TierList([{ above: 0, minute: 1_000, hour: 10_000, day: 10_000 }]);
    const callers = await callersOf(bench, 4, { tierList, nowMs: NOW });
    for (const { accountId } of callers) { // a charge takes of several
      for (let lot = 0; lot < 40; lot++) await bench.grant(accountId, 7, null, lot);
    }
    await using connected = await threeGateways(bench);
    const { gateways } = connected;
    const loans = await Promise.all(gateways.map(async (database, at) => {
      for (const { accountId, keyId } of callers) {
        const loan = { gatewayId: `gw_${at}`, loanId: `${accountId} ${at}`, isNew: true };
        const least = { leastCredits: 1, leastPlaces: 1 };
        const ask = {
          accountId,
          keyId,
          ...loan,
          nowMs: NOW,
          leaseMs: 60_000,
          tierList,
          ...least,
        };
        assert(await lend(database, ask) !== undefined);
      }
      return (accountId: string) => ({ loanId: `${accountId} ${at}`, credits: 5 });
    }));
    for (let round = 0; round < 3; round++) {
      await Promise.all(
        gateways.flatMap((database, at) =>
          random.some([...callers, ...callers], 2 * callers.length).map(({ accountId, ask }) =>
            settlePrice(database, {
              ...ask(1, 5),
              price: random.integer(1, 5),
              nowMs: NOW,
              admittedAtMs: NOW,
              route: random.pick(["svc-a", "svc-b", "svc-c"]),
              lent: loans[at]!(accountId),
            })
          )
        ),
      );
    }
    const twice = await bench.database.all(
      "select balance_credits from usage_records group by account_id, balance_credits having count(*) > 1",
    );
    assertEquals(twice, [], `no two charges leave the same balance (SLUICE_TEST_SEED=${seed})`);
    assertEquals((await audit(bench.database)).mismatches, []);
  },
);

// Proves P7.
Deno.test(
  `batches of several gateways never wait for each other in a circle${skipped}`,
  { ignore },
  async () => {
    await using bench = await ledgerBench("postgres");
    const seed = testSeed();
    const random = new Random(seed);
    const tierList = new TierList([{ above: 0, minute: 1_000, hour: 10_000, day: 10_000 }]);
    const callers = await callersOf(bench, 8, { tierList, nowMs: NOW, budget: 100_000 });
    for (const { accountId } of callers) await bench.grant(accountId, 100_000);
    const connections = async () =>
      (await bench.database.one("select count(*) as n from pg_stat_activity"))?.n;
    const before = await connections();
    const gateways = [await bench.connect(), await bench.connect(), await bench.connect()];
    for (let round = 0; round < sized(5, 50); round++) {
      await Promise.all(
        gateways.flatMap((database) =>
          random.some(callers, callers.length).map(async ({ ask }) => {
            const one = ask(1, 10);
            assertEquals((await admit(database, one)).verdict, "admitted");
            await growHold(database, { ...one, wanted: 20, admittedAtMs: NOW });
            await settlePrice(database, { ...one, price: 15, nowMs: NOW, admittedAtMs: NOW });
          })
        ),
      );
    }
    await Promise.all(gateways.map((database) => database.close()));
    // a connection tells what it counted when it ends
    await until(async () => await connections() === before);
    const counted = await bench.database.one(
      "select deadlocks from pg_stat_database where datname = current_database()",
    );
    assertEquals(counted?.deadlocks, 0, `SLUICE_TEST_SEED=${seed}`);
    assertEquals((await audit(bench.database)).mismatches, []);
  },
);
