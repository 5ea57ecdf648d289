/** That nothing changes rows on PostgreSQL before it has locked what they belong to, as batches of other gateways would wait for it in a circle. */

import {
  admit,
  lapsedLoans,
  lend,
  reapHolds,
  recallLoans,
  releaseHoldsOf,
  releaseLapsedLoans,
  releaseLoansOf,
  removeBudget,
  renewHolds,
  renewLoans,
  setBudget,
  TierList,
  writeOffLoans,
} from "../../../src/money/ledger/mod.ts";
import { assertEquals } from "../../assert.ts";
import { ledgerBench, ledgerCaller } from "../../fake/ledger.ts";
import { unlockedWrites, watchRowLocks } from "../../fake/lock_watch.ts";
import { whyNoPostgres } from "../../fake/postgres.ts";

const why = await whyNoPostgres();

const NOW = Date.UTC(2030, 0, 1, 12);
/** A lease that has ended, by the server's clock. */
const OVER_MS = -1_000;
/** One that has ended so long ago that its places are free again. */
const LONG_OVER_MS = -40 * 24 * 3_600_000;

// Proves P7.
Deno.test(
  `holds, loans and budgets are changed by those alone who have locked their accounts${
    why === undefined ? "" : ` (skipped: ${why})`
  }`,
  { ignore: why !== undefined },
  async () => {
    await using bench = await ledgerBench("postgres");
    const { database } = bench;
    await watchRowLocks(database);
    const tierList = new TierList([{ above: 0, minute: 50, hour: 1_000, day: 1_000 }]);
    const { accountId, keyId, ask } = await ledgerCaller(bench, { tierList, nowMs: NOW });
    await bench.grant(accountId, 1_000);
    const name = { owner: "key", ownerId: keyId, period: "day" } as const;
    await setBudget(database, { ...name, credits: 100 }, { nowMs: NOW, patienceMs: 0 });

    for (const release of [reapHolds, (one: typeof database) => releaseHoldsOf(one, "gw")]) {
      const one = ask(1, 10);
      assertEquals((await admit(database, one)).verdict, "admitted");
      await renewHolds(database, [one.requestId], OVER_MS);
      await release(database);
      assertEquals(await database.all("select * from holds"), []);
    }

    let loans = 0;
    const borrow = async (leaseMs: number) => {
      const gatewayId = "gw";
      const loanId = `loan ${loans++}`;
      const terms = { nowMs: NOW, tierList, leastCredits: 1, leastPlaces: 1, byKey: true };
      await lend(database, {
        accountId,
        keyId,
        gatewayId,
        loanId,
        isNew: true,
        leaseMs: 60_000,
        ...terms,
      });
      await recallLoans(database, accountId);
      assertEquals((await renewLoans(database, gatewayId, leaseMs)).length, 1);
    };
    await borrow(60_000);
    await releaseLoansOf(database, "gw");
    await borrow(LONG_OVER_MS);
    await releaseLapsedLoans(database, await lapsedLoans(database));
    await borrow(OVER_MS);
    await writeOffLoans(database, { id: "off", gatewayId: "gw", note: "gone", atMs: NOW });
    assertEquals(await database.all("select * from loans"), []);

    const inZone = { ...name, credits: 50, zone: "Europe/Berlin" };
    await setBudget(database, inZone, { nowMs: NOW, patienceMs: 0 });
    assertEquals(await removeBudget(database, name), true);
    assertEquals(await unlockedWrites(database), []);
  },
);
