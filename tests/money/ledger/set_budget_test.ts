/** What a budget that is set counts of the time before: its own keys' charges and holds of its period, pruned or not. */

import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { admit, audit, removeBudget, setBudget, TierList } from "../../../src/money/ledger/mod.ts";
import { Retention } from "../../../src/money/usage/mod.ts";
import { assertEquals } from "../../assert.ts";
import { ledgerBench, settlePrice } from "../../fake/ledger.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const FROM = Date.UTC(2030, 0, 2);
const UNTIL = FROM + DAY;
const tierList = new TierList([{ above: 0, minute: 1e6, hour: 1e6, day: 1e6 }]);

Deno.test("a budget counts what its keys spent and hold in its period, to the millisecond, and no other key", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  await database.batch(tierList.statements);
  const [own, stranger] = [await bench.account(), await bench.account()];
  const sibling = { ...own, keyId: await bench.key(own.accountId) };
  for (const { accountId } of [own, stranger]) await bench.grant(accountId, 1e12, null, 0);
  const spend = async (
    caller: typeof own,
    price: number,
    admittedAtMs: number | null,
    nowMs = admittedAtMs ?? 0,
  ) => {
    const requestId = newRequestId(nowMs);
    await settlePrice(database, { ...caller, requestId, price, admittedAtMs, nowMs });
  };
  // each amount has a digit of its own
  await spend(own, 1, FROM - 1);
  await spend(own, 10, FROM);
  await spend(own, 100, FROM + 1, FROM - 2 * HOUR); // it waited
  await spend(own, 1_000, null, FROM + HOUR);
  await spend(own, 10_000, UNTIL - 1);
  await spend(own, 100_000, UNTIL);
  await spend(own, 1_000_000, UNTIL + 1, UNTIL - HOUR);
  await spend(own, 10_000_000, null, FROM - HOUR);
  await spend(sibling, 7, FROM + HOUR);
  await spend(stranger, 7, FROM + HOUR);
  const hold = async (caller: typeof own, credits: number, nowMs: number) => {
    const { verdict } = await admit(database, {
      ...caller,
      requestId: newRequestId(nowMs),
      gatewayId: "gw",
      least: credits,
      wanted: credits,
      nowMs,
      leaseMs: 60_000,
      tierListId: tierList.id,
    });
    assertEquals(verdict, "admitted");
  };
  await hold(own, 1, FROM - 1);
  await hold(own, 10, FROM);
  await hold(own, 100, UNTIL - 1);
  await hold(own, 1_000, UNTIL);
  await hold(sibling, 7, FROM + HOUR);
  await hold(stranger, 7, FROM + HOUR);

  const counted = async () => {
    const sums: [number, number][] = [];
    for (const period of ["day", "life"] as const) {
      const terms = { owner: "key", ownerId: own.keyId, period, credits: 1e12 } as const;
      const { spent, held } = await setBudget(database, terms, { nowMs: FROM + 12 * HOUR });
      sums.push([spent, held]);
      await removeBudget(database, terms);
    }
    return sums;
  };
  const expected = [[11_110, 110], [11_111_111, 1_111]];
  assertEquals(await counted(), expected);
  const options = { database, log: SILENT, days: 1, rows: 1e6 };
  // half of it, then all
  for (const nowMs of [FROM + DAY + 1, UNTIL + 9 * DAY]) {
    await new Retention({ ...options, now: () => nowMs }).prune();
    assertEquals(await counted(), expected, new Date(nowMs).toISOString());
  }
  assertEquals(await database.all("select * from usage_records"), []);
  assertEquals((await audit(database)).mismatches, []);
});
