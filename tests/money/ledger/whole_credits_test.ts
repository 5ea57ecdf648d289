import { creditsOf } from "../../../src/money/ledger/mod.ts";
import { wholeCredits } from "../../../src/money/ledger/whole_credits.ts";
import { assertEquals, assertRejects, assertThrows } from "../../assert.ts";
import { ledgerBench, settlePrice } from "../../fake/ledger.ts";

const NOW = Date.UTC(2030, 0, 1);

Deno.test("credits are whole numbers from 0", () => {
  for (const credits of [0, 1, 2 ** 60]) assertEquals(wholeCredits(credits, "a price"), credits);
  for (const value of [-1, 0.5, NaN, Infinity, 1n, "1", null, undefined]) {
    assertThrows(() => wholeCredits(value, "a price"), TypeError, "a price must be whole credits");
  }
});

// Proves P3.
Deno.test("a price with a fraction fails by itself, not those that are settled together with it", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  const caller = await bench.account();
  await bench.grant(caller.accountId, 100);
  const settled = [7, 0.5, -3, 8].map((price) =>
    settlePrice(database, { ...caller, requestId: `req_${price}`, price, nowMs: NOW })
  );
  const outcomes = await Promise.allSettled(settled);
  assertEquals(outcomes.map(({ status }) => status), [
    "fulfilled",
    "rejected",
    "rejected",
    "fulfilled",
  ]);
  assertEquals((await creditsOf(database, caller.accountId, NOW)).balance, 85);
});

Deno.test("credits that the database would have to have checked are checked as they are read", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  const caller = await bench.account();
  await bench.grant(caller.accountId, 100);
  await database.batch([
    { sql: "pragma ignore_check_constraints = on" },
    { sql: "update balances set held = -1" },
  ]);
  await assertRejects(() => creditsOf(database, caller.accountId, NOW), Error, "held");
});
