/** Which credits are taken, and how many a request may hold. */

import {
  admit,
  audit,
  budgetOf,
  creditsOf,
  grantStatements,
  growHold,
  TierList,
} from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import {
  type LedgerBench,
  ledgerBench,
  ledgerCaller,
  possible,
  settlePrice,
} from "../../fake/ledger.ts";
import { PROOF } from "../../tier.ts";

const NOW = Date.UTC(2030, 0, 1);
const DAY = 86_400_000;

const tierList = new TierList([{ above: 0, minute: 3, hour: 10, day: 20 }]);

/** Grants whose ids, times of making and expiries are in three different orders. */
const LOTS = [
  { lotId: "lot_b", atMs: NOW - 3 * DAY, expiresAtMs: null },
  { lotId: "lot_c", atMs: NOW - 2 * DAY, expiresAtMs: NOW + 9 * DAY },
  { lotId: "lot_a", atMs: NOW - DAY, expiresAtMs: null },
  { lotId: "lot_e", atMs: NOW - 4 * DAY, expiresAtMs: NOW + 9 * DAY },
  { lotId: "lot_d", atMs: NOW - 5 * DAY, expiresAtMs: null },
  { lotId: "lot_g", atMs: NOW, expiresAtMs: NOW + DAY },
  { lotId: "lot_f", atMs: NOW - 3 * DAY, expiresAtMs: null },
];
/** What expires first, then from the oldest, then by the id. */
const ORDER = ["lot_g", "lot_e", "lot_c", "lot_d", "lot_b", "lot_f", "lot_a"];

const caller = (bench: LedgerBench, budget?: number) =>
  ledgerCaller(bench, { tierList, nowMs: NOW, budget });

for (const kind of possible(["file", "server", "postgres"])) {
  Deno.test(`credits are spent by expiry, then from the oldest (${kind})`, async () => {
    await using bench = await ledgerBench(kind);
    const { accountId, ask } = await caller(bench);
    for (const lot of LOTS) {
      await bench.database.batch(
        grantStatements({ ...lot, accountId, source: "grant", credits: 10 }),
      );
    }
    const left = async () =>
      (await creditsOf(bench.database, accountId, NOW)).lots.map(({ id, remaining }) =>
        [id, remaining] as const
      );
    assertEquals(await left(), ORDER.map((id) => [id, 10] as const), "listed as they are spent");
    for (let spent = 4; spent < 70; spent += 4) {
      const one = ask(1, 4);
      await settlePrice(bench.database, { ...one, price: 4, nowMs: NOW });
      const at = Math.floor(spent / 10);
      const expected = ORDER.slice(at).map((id, index) =>
        [id, index === 0 ? 10 - spent % 10 : 10] as const
      );
      assertEquals(await left(), expected, `${spent} credits spent`);
    }
    assertEquals((await audit(bench.database)).mismatches, []);
  });

  const second = kind === "server" ? PROOF : {};
  Deno.test(`a growing hold keeps within its key's budget (${kind})`, second, async () => {
    await using bench = await ledgerBench(kind);
    const { accountId, keyId, ask } = await caller(bench, 30);
    await bench.grant(accountId, 1_000);
    await settlePrice(bench.database, { ...ask(1, 1), price: 8, nowMs: NOW });
    const [first, second] = [ask(1, 5), ask(1, 5)];
    for (const one of [first, second]) await admit(bench.database, one);
    const grow = (one: typeof first, wanted: number) =>
      growHold(bench.database, { ...one, wanted, admittedAtMs: NOW });
    assertEquals(await grow(first, 12), 12);
    assertEquals(await grow(first, 500), 17, "30, less 8 that are spent and 5 that are held");
    assertEquals(await grow(second, 500), 5);
    // made again after its lease has ended
    await bench.database.batch([{
      sql: "delete from holds where request_id = ?",
      args: [first.requestId],
    }]);
    assertEquals(await grow(first, 500), 17);
    const name = { owner: "key", ownerId: keyId, period: "life" } as const;
    const budget = await budgetOf(bench.database, name, NOW);
    assertEquals([budget!.credits, budget!.spent, budget!.held], [30, 8, 22]);
    assertEquals((await audit(bench.database)).mismatches, []);
  });
}

Deno.test("a request is admitted on what is free, and holds no more than its key may spend", async () => {
  await using bench = await ledgerBench("file");
  const { accountId, ask } = await caller(bench, 30);
  await bench.grant(accountId, 50);
  const admitted = async (one: ReturnType<typeof ask>) => {
    const { verdict, credits } = await admit(bench.database, one);
    return verdict === "admitted" ? credits : verdict;
  };
  assertEquals(await admitted(ask(1, 500)), 30, "the budget");
  const keyId = await bench.key(accountId);
  assertEquals(await admitted({ ...ask(21, 500), keyId }), "credits");
  assertEquals(await admitted({ ...ask(20, 500), keyId }), 20, "what the other does not hold");
  assertEquals(await admitted({ ...ask(1, 1), keyId }), "credits");
});

Deno.test("windows count what is admitted, and nothing else", async () => {
  await using bench = await ledgerBench("file");
  const { accountId, keyId, ask } = await caller(bench, 8);
  await bench.grant(accountId, 10);
  const used = async () =>
    (await bench.database.all("select span_ms, used from windows where key_id = ? order by 1", [
      keyId,
    ])).map(({ used }) => used);
  const verdict = async (least: number) => (await admit(bench.database, ask(least, least))).verdict;
  assertEquals([await verdict(9), await used()], ["budget", []]);
  assertEquals([await verdict(2), await used()], ["admitted", [1, 1, 1]]);
  assertEquals([await verdict(7), await used()], ["budget", [1, 1, 1]]);
  const other = { ...ask(9, 9), keyId: await bench.key(accountId) };
  assertEquals((await admit(bench.database, other)).verdict, "credits");
  assertEquals((await bench.database.all("select * from windows")).length, 3);
  assertEquals([await verdict(1), await verdict(1)], ["admitted", "admitted"]);
  assertEquals([await verdict(1), await used()], ["rate", [3, 3, 3]]);
  const late = ask(1, 1);
  await settlePrice(bench.database, { ...late, price: 1, nowMs: NOW });
  assertEquals(await used(), [3, 3, 3], "settling counts nothing");
});

// Proves P3.
Deno.test("a charge takes nothing of what other requests hold, and the rest of it is remembered", async () => {
  await using bench = await ledgerBench("file");
  const { accountId, ask } = await caller(bench);
  await bench.grant(accountId, 20);
  const [dear, other] = [ask(1, 5), ask(1, 12)];
  for (const one of [dear, other]) {
    assertEquals((await admit(bench.database, one)).verdict, "admitted");
  }
  const settled = await settlePrice(bench.database, { ...dear, price: 50, nowMs: NOW });
  assertEquals(settled, { charged: 8, balance: 12 });
  const { uncollected, mismatches } = await audit(bench.database);
  assertEquals([uncollected, mismatches], [{ requests: 1, credits: 42 }, []]);
  assert((await creditsOf(bench.database, accountId, NOW)).held === 12);
});

Deno.test("a request that is settled again is charged as it was the first time", async () => {
  await using bench = await ledgerBench("file");
  const { accountId, ask } = await caller(bench);
  await bench.grant(accountId, 100);
  const one = ask(1, 5);
  await admit(bench.database, one);
  for (const price of [7, 7, 9, 0]) {
    const settled = await settlePrice(bench.database, { ...one, price, nowMs: NOW });
    assertEquals(settled, { charged: 7, balance: 93 });
  }
  const credits = await creditsOf(bench.database, accountId, NOW);
  assertEquals([credits.balance, credits.consumed, credits.requests], [93, 7, 1]);
});

Deno.test("no request is admitted on what has expired, to the millisecond", async () => {
  await using bench = await ledgerBench("file");
  const { accountId, ask } = await caller(bench);
  await bench.grant(accountId, 50, NOW + 1);
  await bench.grant(accountId, 3);
  const before = await admit(bench.database, ask(5, 5));
  assertEquals([before.verdict, before.balance], ["admitted", 53]);
  const after = await admit(bench.database, { ...ask(5, 5), nowMs: NOW + 1 });
  assertEquals([after.verdict, after.balance], ["credits", 5], "as much as is held is kept");
  assertEquals((await audit(bench.database)).mismatches, []);
});
