/** Loans of gateways that are gone: what time frees of them, what only their outbox or an operator does. */

import { type Database, DatabaseError } from "../../../src/ground/database/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import {
  admit,
  audit,
  awaitReturns,
  budgetOf,
  isRecalled,
  lapsedLoans,
  lend,
  lentToGateways,
  loanWriteOff,
  recallLoans,
  releaseLapsedLoans,
  renewLoans,
  returnLoan,
  setBudget,
  takeBack,
  TierList,
  writeOffLoans,
} from "../../../src/money/ledger/mod.ts";
import { assertEquals, assertRejects } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { ledgerBench, settlePrice } from "../../fake/ledger.ts";
import { until } from "../../fake/temp.ts";

const NOW = Date.UTC(2030, 0, 1, 12, 30, 30);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LEASE_MS = MINUTE;
const GRANTED = 1_000;
const tierList = new TierList([{ above: 0, minute: 100, hour: 1_000, day: 10_000 }]);

/** An account with a loan of half of its credits, whose gateway is gone. */
async function scene() {
  const ledger = await ledgerBench("file");
  const { database } = ledger;
  await database.batch(tierList.statements);
  const caller = await ledger.account();
  const lotId = await ledger.grant(caller.accountId, GRANTED, null, NOW - DAY);
  const borrow = (gatewayId: string, { isNew = true, byKey = false } = {}) =>
    lend(database, {
      ...caller,
      gatewayId,
      loanId: `loan of ${gatewayId}${byKey ? " of a key" : ""}`,
      isNew,
      byKey,
      nowMs: NOW,
      leaseMs: LEASE_MS,
      tierList,
      leastCredits: 1,
      leastPlaces: 1,
    });
  await borrow("gw_gone");
  return {
    ledger,
    database,
    caller,
    lotId,
    borrow,
    /** As if time had passed for the lease of the gateway that is gone. */
    pass: (ms: number) =>
      database.batch([{
        sql: "update loans set lease_until_ms = lease_until_ms - ? where gateway_id = 'gw_gone'",
        args: [ms],
      }]),
    decide: (credits: number, { mayRecall = true } = {}) =>
      admit(database, {
        ...caller,
        requestId: newRequestId(NOW),
        gatewayId: "gw",
        least: credits,
        wanted: credits,
        nowMs: NOW,
        leaseMs: LEASE_MS,
        tierListId: tierList.id,
        mayRecall,
      }),
    places: async () => {
      const row = await database.one("select minute, hour, day from loans");
      return row && Object.values(row).map((places) => Number(places) > 0);
    },
    async [Symbol.asyncDispose]() {
      assertEquals((await audit(database)).mismatches, []);
      await ledger[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a loan whose lease has ended stays lent: it is neither freed by time nor waited for", async () => {
  await using at = await scene();
  const { database, caller: { accountId } } = at;
  assertEquals((await at.decide(600)).verdict, "recall");
  await at.pass(30 * DAY);
  assertEquals(await lapsedLoans(database), [{ gatewayId: "gw_gone", loanId: "loan of gw_gone" }]);
  const refused = await at.decide(600);
  assertEquals([refused.verdict, refused.lentMs], ["credits", 0]);
  assertEquals(await recallLoans(database, accountId), true);
  assertEquals(await isRecalled(database, accountId), false, "nobody returns it");
  const { lentCredits, unreturned } = await audit(database);
  assertEquals([lentCredits, unreturned], [500, { gateways: 1, credits: 500 }]);
  // what other gateways are lent is waited for
  await at.borrow("gw_two");
  const lentTo = async (gatewayId?: string) =>
    (await lentToGateways(database, gatewayId)).map((lent) => lent.gatewayId);
  assertEquals([await lentTo(), await lentTo("gw_two"), await lentTo("gw_none")], [
    ["gw_gone", "gw_two"],
    ["gw_two"],
    [],
  ]);
  assertEquals((await at.decide(400)).verdict, "recall");
  await at.pass(0);
  assertEquals((await at.decide(240)).verdict, "admitted");
});

// Proves P4, P8.
Deno.test("a lapsed loan of a key counts in its budgets until what was sold on it is charged, or it is written off", async () => {
  await using at = await scene();
  const { database, caller } = at;
  const name = { owner: "key", ownerId: caller.keyId, period: "day" } as const;
  await setBudget(database, { ...name, credits: 100 }, { nowMs: NOW, patienceMs: 0 });
  const budget = async () => {
    const { spent, held } = (await budgetOf(database, name, NOW))!;
    return { spent, held };
  };
  assertEquals((await at.borrow("gw_gone", { byKey: true }))?.added, 50);
  const early = await at.decide(60, { mayRecall: false });
  assertEquals([early.verdict, early.lentMs! > 0], ["budget", true], "it may still be spent");
  await at.pass(30 * DAY);
  assertEquals((await at.decide(101)).lentMs, undefined, "more than the whole budget");
  const refused = await at.decide(60);
  assertEquals([refused.verdict, refused.lentMs], ["budget", 0]);
  assertEquals(await budget(), { spent: 0, held: 50 });
  const [lent] = await lentToGateways(database);
  assertEquals([lent!.accounts, lent!.lapsedAccounts, lent!.lapsedKeys], [1, 1, [caller.keyId]]);
  const sold = {
    ...caller,
    requestId: newRequestId(NOW),
    price: 20,
    nowMs: NOW,
    admittedAtMs: NOW,
    lent: { loanId: "loan of gw_gone of a key", credits: 20 },
  };
  assertEquals((await settlePrice(database, sold)).charged, 20);
  assertEquals(await budget(), { spent: 20, held: 30 });
  const off = { id: "off_1", gatewayId: "gw_gone", note: "disk lost", atMs: NOW };
  await writeOffLoans(database, off);
  assertEquals((await loanWriteOff(database, "off_1"))?.accounts, 1);
  assertEquals(await budget(), { spent: 20, held: 0 });
  assertEquals((await at.decide(80)).verdict, "admitted");
});

Deno.test("an account that owes something is not kept waiting by a loan whose gateway is gone", async () => {
  await using at = await scene();
  const { database, caller } = at;
  await at.pass(LEASE_MS + 1);
  const dear = { ...caller, requestId: newRequestId(NOW), price: GRANTED, nowMs: NOW };
  assertEquals((await settlePrice(database, dear)).charged, 500);
  await at.ledger.grant(caller.accountId, 100, null, NOW - DAY); // as old as the first: it still owes
  assertEquals((await at.decide(10)).verdict, "admitted");
  assertEquals((await at.decide(10)).verdict, "uncollected", "the other one is in flight");
});

Deno.test("places in windows that are over are free again, each in its time", async () => {
  await using at = await scene();
  const seen: unknown[] = [];
  for (const ms of [LEASE_MS + 1, MINUTE, MINUTE, HOUR - MINUTE, DAY - HOUR]) {
    await at.pass(ms);
    await lapsedLoans(at.database);
    seen.push(await at.places());
  }
  assertEquals(seen, [
    [true, true, true],
    [true, true, true], // a minute more, as clocks differ
    [false, true, true],
    [false, false, true],
    [false, false, false],
  ]);
});

Deno.test("a gateway that comes back late has to return what it was lent", async () => {
  await using at = await scene();
  const known = { accountId: at.caller.accountId, loanId: "loan of gw_gone" };
  assertEquals(await renewLoans(at.database, "gw_gone", LEASE_MS), [{ ...known, isRenewed: true }]);
  await at.pass(LEASE_MS + 1);
  const late = await renewLoans(at.database, "gw_gone", LEASE_MS);
  assertEquals(late, [{ ...known, isRenewed: false }]);
  assertEquals((await lapsedLoans(at.database)).length, 1);
});

Deno.test("only a loan that may not be spent any more is released or written off", async () => {
  await using at = await scene();
  const { database } = at;
  const off = { id: "off_1", gatewayId: "gw_gone", note: "disk lost", atMs: NOW };
  await releaseLapsedLoans(database, [{ gatewayId: "gw_gone", loanId: "loan of gw_gone" }]);
  await writeOffLoans(database, off);
  assertEquals(await loanWriteOff(database, "off_1"), undefined);
  const byHand = `insert into loan_write_offs
    select loan_id, 'off', account_id, gateway_id, credits, lease_until_ms, 'x', 1 from loans`;
  await assertRejects(
    () => database.batch([{ sql: byHand }]),
    DatabaseError,
    "whose lease has ended",
  );
  assertEquals((await lentToGateways(database))[0]?.credits, 500);

  await at.pass(LEASE_MS + 1);
  assertEquals((await lentToGateways(database))[0]?.lapsedCredits, 500);
  await writeOffLoans(database, off);
  await writeOffLoans(database, { ...off, id: "off_2" });
  assertEquals(await loanWriteOff(database, "off_2"), undefined, "it was written off once");
  assertEquals(await loanWriteOff(database, "off_1"), {
    gatewayId: "gw_gone",
    accounts: 1,
    credits: 500,
    note: "disk lost",
    atMs: NOW,
  });
  const { unreturned, writtenOff } = await audit(database);
  assertEquals(unreturned, { gateways: 0, credits: 0 });
  assertEquals(writtenOff, { loans: 1, credits: 500 });
});

Deno.test("what a gateway sold is charged when its outbox is read; after a write-off, as far as there are credits", async () => {
  for (const isWrittenOff of [false, true]) {
    await using at = await scene();
    const { database, caller } = at;
    await at.pass(LEASE_MS + 1);
    const off = { id: "off_1", gatewayId: "gw_gone", note: "disk lost", atMs: NOW };
    if (isWrittenOff) await writeOffLoans(database, off);
    // others take all that they can get
    const free = isWrittenOff ? GRANTED : GRANTED / 2;
    assertEquals((await at.decide(free)).verdict, "admitted");
    const sold = {
      ...caller,
      requestId: newRequestId(NOW),
      price: 300,
      nowMs: NOW,
      admittedAtMs: NOW,
      lent: { loanId: "loan of gw_gone", credits: 300 },
    };
    assertEquals((await settlePrice(database, sold)).charged, isWrittenOff ? 0 : 300);
    if (isWrittenOff) continue;
    await releaseLapsedLoans(database, await lapsedLoans(database));
    assertEquals((await at.decide(200)).verdict, "admitted", "what it did not sell is free");
  }
});

Deno.test("nobody waits for a loan that has lapsed, nor where nothing is recalled", async () => {
  await using at = await scene();
  const { database, caller: { accountId }, lotId } = at;
  const patienceMs = DAY;
  await awaitReturns(database, { patienceMs });
  await at.pass(LEASE_MS + 1);
  await recallLoans(database, accountId);
  await awaitReturns(database, { accountId, patienceMs });
  const taken = await takeBack(database, {
    id: "take_back_1",
    accountId,
    lotId,
    note: "x",
    atMs: NOW,
    patienceMs,
  });
  assertEquals(taken?.credits, GRANTED / 2);
});

Deno.test("what is lent while it is about to be taken back is recalled first", async () => {
  await using at = await scene();
  const { database, caller: { accountId }, lotId } = at;
  await at.pass(LEASE_MS + 1);
  await releaseLapsedLoans(database, await lapsedLoans(database));
  let writes = 0;
  const late: Database = {
    ...guardedDatabase(database, () => {}),
    batch: async (...args) => {
      if (++writes === 1) await at.borrow("gw_late");
      const rows = await database.batch(...args);
      // its gateway returns it as soon as it is asked to
      if (writes === 2) {
        await returnLoan(database, {
          accountId,
          gatewayId: "gw_late",
          loanId: "loan of gw_late",
          leaseMs: LEASE_MS,
          requests: [],
        });
      }
      return rows;
    },
  };
  const back = { id: "take_back_1", accountId, lotId, note: "x", atMs: NOW };
  const taken = await takeBack(late, { ...back, patienceMs: DAY });
  assertEquals([taken?.credits, writes], [GRANTED, 3]);
});

Deno.test("a loan is written off as it stands, and no other with it", async () => {
  await using at = await scene();
  const { database, caller } = at;
  await at.borrow("gw_other");
  const name = { owner: "key", ownerId: caller.keyId, period: "day" } as const;
  await setBudget(database, { ...name, credits: 100 }, { nowMs: NOW, patienceMs: 0 });
  await at.borrow("gw_gone", { byKey: true });
  await database.batch([
    { sql: "update loans set lease_until_ms = 1" },
    { sql: "update loans set loan_id = 'loan of gw_gone' where gateway_id = 'gw_other'" },
  ]);
  const writeOff = (change: Readonly<Record<string, string>> = {}) => {
    const columns = ["loan_id", "account_id", "gateway_id", "credits", "lease_until_ms"];
    const sql = `insert into loan_write_offs (${columns.join(", ")}, write_off_id, note, at_ms)
      select ${columns.map((one) => change[one] ?? one).join(", ")}, 'off', 'x', 1 from loans
      where loan_id = 'loan of gw_gone' and gateway_id = 'gw_gone'`;
    return database.batch([{ sql }]);
  };
  for (
    const change of [
      { loan_id: "'another'" },
      { gateway_id: "'gw_third'" },
      { credits: "credits + 1" },
      { lease_until_ms: "0" },
    ]
  ) {
    await assertRejects(() => writeOff(change), DatabaseError, "whose lease has ended");
  }
  await writeOff();
  // which is not lent again under its ID
  await database.batch([{ sql: "update loans set loan_id = 'x' where gateway_id = 'gw_other'" }]);
  const left = await database.all("select gateway_id, key_id from loans order by gateway_id");
  assertEquals(left.map(({ gateway_id, key_id }) => [gateway_id, key_id]), [
    ["gw_gone", caller.keyId],
    ["gw_other", ""],
  ]);
});

Deno.test("what is lent is taken back once its gateway has returned it", async () => {
  await using at = await scene();
  const { database, caller: { accountId }, lotId } = at;
  const back = { id: "take_back_1", accountId, lotId, note: "x", atMs: NOW };
  const taken = takeBack(database, { ...back, patienceMs: DAY });
  await until(() => isRecalled(database, accountId), { what: "its recall" });
  for (let looks = 0; looks < 5; looks++) await database.one("select 1 as one");
  const loan = { accountId, gatewayId: "gw_gone", loanId: "loan of gw_gone", leaseMs: LEASE_MS };
  await returnLoan(database, { ...loan, requests: [] });
  assertEquals((await taken)?.credits, GRANTED);
});
