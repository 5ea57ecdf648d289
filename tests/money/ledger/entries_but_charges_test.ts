import {
  entriesBetween,
  entriesButChargesReading,
  entriesOf,
  type Entry,
  sumsButChargesReading,
} from "../../../src/money/ledger/mod.ts";
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

Deno.test("an account's entries are read in pages: the newest first, or those of a range from its start on, none empty", async () => {
  await using bench = await ledgerBench("file");
  const { database } = bench;
  const [{ accountId }, other] = [await bench.account(), await bench.account()];
  const made: [lotId: string, atMs: number][] = [];
  for (const atMs of [SINCE - 1, SINCE, SINCE, SINCE + 1, UNTIL - 1, UNTIL]) {
    made.push([await bench.grant(accountId, 1, null, atMs), atMs]);
    await bench.grant(other.accountId, 1, null, atMs);
  }
  const oldest = made.toSorted(([a, at], [b, bt]) => at - bt || (a < b ? -1 : 1)).map(([id]) => id);
  const newest: string[][] = [];
  for (let before: Entry | undefined, more = true; more;) {
    const page = await entriesOf(database, { accountId, before, limit: 2 });
    newest.push(page.map(({ lotId }) => lotId));
    before = page.at(-1);
    more = page.length > 0;
  }
  const backwards = oldest.toReversed();
  assertEquals(newest, [backwards.slice(0, 2), backwards.slice(2, 4), backwards.slice(4), []]);
  const between = async (limit: number) => {
    const range = { accountId, sinceMs: SINCE, untilMs: UNTIL, limit };
    const pages = await Array.fromAsync(entriesBetween(database, range));
    return pages.map((page) => page.map(({ lotId }) => lotId));
  };
  assertEquals(await between(2), [oldest.slice(1, 3), oldest.slice(3, 5)]);
  assertEquals(await between(3), [oldest.slice(1, 4), oldest.slice(4, 5)]);
  assertEquals(await between(9), [oldest.slice(1, 5)]);
});
