/** What several gateways decide at the same moment on PostgreSQL, which makes decisions beside each other. */

import { assertEquals } from "../../assert.ts";
import { admit, audit, growHold, TierList } from "../../../src/money/ledger/mod.ts";
import { ledgerBench, ledgerCaller, settlePrice } from "../../fake/ledger.ts";
import { whyNoPostgres } from "../../fake/postgres.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { until } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

const NOW = 1_000;

const why = await whyNoPostgres();
const ignore = why !== undefined;
const skipped = why === undefined ? "" : ` (skipped: ${why})`;

// Proves P7.
Deno.test(
  `a limit of 50 requests over three gateways admits 50${skipped}`,
  { ignore },
  async () => {
    await using bench = await ledgerBench("postgres");
    const tierList = new TierList([{ above: 0, minute: 50, hour: 1_000, day: 1_000 }]);
    const { accountId, ask } = await ledgerCaller(bench, { tierList, nowMs: 1_000 });
    await bench.grant(accountId, 1_000_000);
    const gateways = [bench.database, await bench.connect(), await bench.connect()];
    try {
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
    } finally {
      await Promise.all(gateways.slice(1).map((database) => database.close()));
    }
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
    const callers: Awaited<ReturnType<typeof ledgerCaller>>[] = [];
    for (let index = 0; index < 8; index++) {
      const caller = await ledgerCaller(bench, { tierList, nowMs: NOW, budget: 100_000 });
      await bench.grant(caller.accountId, 100_000);
      callers.push(caller);
    }
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
