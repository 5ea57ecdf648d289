import { entriesButChargesReading, sumsButChargesReading } from "../../../src/money/ledger/mod.ts";
import { readTogether } from "../../../src/ground/database/mod.ts";
import { assertEquals } from "../../assert.ts";
import { ledgerBench, settlePrice } from "../../fake/ledger.ts";

const DAY_MS = 86_400_000;
const SINCE = Date.UTC(2030, 0, 2);
const UNTIL = SINCE + 2 * DAY_MS;

Deno.test("entries but charges are an account's, from the start of a range on and before its end", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  const [own, other] = [await bench.account(), await bench.account()];
  const times = [SINCE - 1, SINCE, SINCE + DAY_MS - 1, SINCE + DAY_MS, UNTIL - 1, UNTIL];
  for (const [at, atMs] of times.entries()) {
    await bench.grant(own.accountId, 10 ** at, null, atMs);
    await bench.grant(other.accountId, 7, null, atMs);
    await settlePrice(database, { ...own, requestId: `req_${at}`, price: 1, nowMs: atMs });
  }
  const range = { accountId: own.accountId, sinceMs: SINCE, untilMs: UNTIL };
  const { entries, two, sums } = await readTogether(database, {
    entries: entriesButChargesReading({ ...range, limit: 10 }),
    two: entriesButChargesReading({ ...range, limit: 2 }),
    sums: sumsButChargesReading(range),
  });
  assertEquals(
    entries.map(({ kind, atMs, credits }) => [kind, atMs, credits]),
    times.slice(1, 5).map((atMs, at) => ["grant", atMs, 10 ** (at + 1)]),
  );
  assertEquals(two, entries.slice(0, 2));
  assertEquals(sums, [
    { dayAtMs: SINCE, kind: "grant", entries: 2, credits: 110 },
    { dayAtMs: SINCE + DAY_MS, kind: "grant", entries: 2, credits: 11_000 },
  ]);
});
