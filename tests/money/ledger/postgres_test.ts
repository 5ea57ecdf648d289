/** What several gateways decide at the same moment on PostgreSQL, which makes decisions beside each other. */

import { assertEquals } from "../../assert.ts";
import { admit, TierList } from "../../../src/money/ledger/mod.ts";
import { ledgerBench, ledgerCaller } from "../../fake/ledger.ts";
import { whyNoPostgres } from "../../fake/postgres.ts";

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
