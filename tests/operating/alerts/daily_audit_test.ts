import {
  auditFailedMark,
  auditOnce,
  isAuditDue,
  lastAudit,
  rememberAudit,
} from "../../../src/operating/alerts/daily_audit.ts";
import { audit, type AuditReport } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

Deno.test("an audit is due an hour after the first start, and then daily, whatever the clock does", async () => {
  await using bench = await ledgerBench("file");
  const start = Date.UTC(2026, 10, 1);
  const due = (ms: number) => isAuditDue(bench.database, start + ms);
  assertEquals(await due(0), false);
  assertEquals(await due(HOUR - 1), false);
  assertEquals(await due(HOUR), true);
  assertEquals(await due(HOUR), false, "one at a time");
  assertEquals(await due(HOUR + DAY - 1), false);
  assertEquals(await due(HOUR + DAY), true);
  assertEquals(await due(HOUR + DAY), false, "a day ahead is no wrong clock");
  assertEquals(await due(HOUR + DAY - 1), true, "it was set by a clock that was ahead");
});

Deno.test("the last audit is remembered with what it found", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  assertEquals(await lastAudit(database), undefined);
  const report = await audit(database);
  await rememberAudit(database, report, 5);
  assertEquals(await lastAudit(database), { atMs: 5, mismatches: 0, uncollectedCredits: 0 });
  const failed = { ...report, mismatches: mismatches(2), uncollected: { requests: 1, credits: 7 } };
  await rememberAudit(database, failed, 6);
  assertEquals(await lastAudit(database), { atMs: 6, mismatches: 2, uncollectedCredits: 7 });
});

Deno.test("one audit is made at a time: those who ask meanwhile get its report, or its failure", async () => {
  await using bench = await ledgerBench("file");
  let made = 0;
  let fails = false;
  const aside = async <T>(work: (database: typeof bench.database) => Promise<T>) => {
    made++;
    if (fails) throw new Error("closing");
    return await work(bench.database);
  };
  const [one, other] = await Promise.all([auditOnce(aside), auditOnce(aside)]);
  assert(one === other);
  assertEquals([made, one.mismatches], [1, []]);
  fails = true;
  const both = await Promise.allSettled([auditOnce(aside), auditOnce(aside)]);
  assertEquals([made, both.map(({ status }) => status)], [2, ["rejected", "rejected"]]);
  fails = false;
  assert(await auditOnce(aside) !== one, "another one");
  assertEquals(made, 3);
});

Deno.test("the alert of an audit names up to five mismatches, and is one for the same ones", async () => {
  await using bench = await ledgerBench("file");
  const report = await audit(bench.database);
  const alertOf = (count: number) => auditFailedMark({ ...report, mismatches: mismatches(count) });
  assertEquals(alertOf(0), undefined);
  const cases = [
    [1, "1 mismatch", "balance spent acc_0. See"],
    [2, "2 mismatches", "balance spent acc_0; balance spent acc_1. See"],
    [5, "5 mismatches", "balance spent acc_4. See"],
    [6, "6 mismatches", "balance spent acc_4; and 1 more. See"],
  ] as const;
  for (const [count, title, text] of cases) {
    const alert = alertOf(count)!;
    assertEquals(alert.title, `Audit failed: ${title}`);
    assert(alert.text.includes(text), alert.text);
  }
  const reversed = { ...report, mismatches: mismatches(6).toReversed() };
  assertEquals(auditFailedMark(reversed)!.mark, alertOf(6)!.mark);
  assert(alertOf(5)!.mark !== alertOf(6)!.mark);
});

function mismatches(count: number): AuditReport["mismatches"] {
  return Array.from({ length: count }, (_, at) => ({
    noun: "balance",
    kind: "spent",
    id: `acc_${at}`,
    promise: "P1",
    found: 1,
    expected: 2,
  }));
}
