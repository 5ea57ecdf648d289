/** Conditions that last: what is noted of them, and what came meanwhile. */

import {
  type Condition,
  conditionAlerted,
  conditionOver,
  conditionsOf,
  isOver,
  seeConditions,
} from "../../../src/operating/alerts/conditions.ts";
import { assertEquals } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { ledgerBench } from "../../fake/ledger.ts";

Deno.test("a condition that was seen again is not over, and one that began again was not alerted", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  const name = "circuit:u/m";
  const see = (nowMs: number) =>
    seeConditions(database, [{ name, kind: "circuit", detail: `at ${nowMs}` }], nowMs);
  const only = async () => (await conditionsOf(database))[0];
  await see(10);
  const first = (await only())!;
  await see(20);
  const later = { ...first, detail: "at 20", seenAtMs: 20 };
  await conditionOver(database, first);
  assertEquals(await only(), later, "seen since");
  await conditionAlerted(database, { ...first, beganAtMs: 5 });
  assertEquals(await only(), later, "of an earlier one");
  await conditionAlerted(database, first);
  assertEquals(await only(), { ...later, isAlerted: true });
  await conditionOver(database, later);
  assertEquals(await only(), undefined);
});

Deno.test("where nothing is seen, nothing is written", async () => {
  await using bench = await ledgerBench("file");
  const uses: string[] = [];
  await seeConditions(guardedDatabase(bench.database, (use) => uses.push(use)), [], 10);
  assertEquals(uses, []);
});

Deno.test("a condition is over once it is not seen for as long, or was seen by a clock that is far ahead", () => {
  const [now, quiet, ahead] = [1e9, 1_000, 600_000];
  const cases = [
    [now - quiet, true],
    [now - quiet + 1, false],
    [now, false],
    [now + ahead, false],
    [now + ahead + 1, true],
  ] as const;
  for (const [seenAtMs, expected] of cases) {
    assertEquals(isOver({ seenAtMs } as Condition, now, quiet), expected, `${seenAtMs - now}`);
  }
});
