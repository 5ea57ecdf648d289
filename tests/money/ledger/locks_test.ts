import { render } from "../../../src/ground/sql/mod.ts";
import {
  budgetOf,
  lend,
  lockDay,
  returnLoan,
  setBudget,
  TierList,
} from "../../../src/money/ledger/mod.ts";
import { assertEquals } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { unlockedWrites, watchLocks } from "../../fake/lock_watch.ts";

const NOW = Date.UTC(2030, 0, 1, 12);

// the model's walk seldom returns a loan of a key with nothing in flight
Deno.test("a loan of a key locks the key's budgets, also when it is returned with no request", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  await watchLocks(database);
  const tierList = new TierList([{ above: 0, minute: 100, hour: 100, day: 100 }]);
  await database.batch(tierList.statements);
  const caller = await bench.account();
  await bench.grant(caller.accountId, 1_000);
  const name = { owner: "key", ownerId: caller.keyId, period: "day" } as const;
  await setBudget(database, { ...name, credits: 100 }, { nowMs: NOW, patienceMs: 0 });
  const held = async () => (await budgetOf(database, name, NOW))!.held;

  const loan = { ...caller, gatewayId: "gw", loanId: "loan", leaseMs: 60_000 };
  await lend(database, {
    ...loan,
    isNew: true,
    byKey: true,
    nowMs: NOW,
    tierList,
    leastCredits: 1,
    leastPlaces: 1,
  });
  assertEquals(await held(), 50);
  await returnLoan(database, { ...loan, requests: [] });
  assertEquals(await held(), 0);
  assertEquals(await unlockedWrites(database), []);
});

Deno.test("those who record requests share a day, and who adds it up has it alone", () => {
  const locks = (["record", "add up"] as const).map((what) =>
    render(lockDay(what, "7"), "postgres")
  );
  assertEquals(locks.map((sql) => /pg_advisory_xact_lock\w*/.exec(sql)?.[0]), [
    "pg_advisory_xact_lock_shared",
    "pg_advisory_xact_lock",
  ]);
});
