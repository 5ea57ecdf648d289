import { checkPeriods } from "../../../src/money/ledger/audit/budgets.ts";
import { checkTiers } from "../../../src/money/ledger/audit/lists.ts";
import { type Database, DatabaseError, type Row } from "../../../src/ground/database/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { admit, audit, growHold, TierList } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { ledgerBench, type LedgerKind, possible, settlePrice } from "../../fake/ledger.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { tempDir } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";
import { withEach } from "./corruptions.ts";

const NOW = Date.UTC(2030, 0, 1);

async function usedLedger(kind: LedgerKind = "file") {
  const bench = await ledgerBench(kind);
  const caller = await bench.account({ budget: 90 });
  const lotId = await bench.grant(caller.accountId, 100);
  const requestId = newRequestId(NOW);
  await settlePrice(bench.database, { ...caller, requestId, price: 30, nowMs: NOW });
  return { bench, ...caller, lotId, requestId };
}

/** What somebody could do to the file by hand, and the kinds of rows that are then off. */
const DAMAGES: Readonly<Record<string, readonly string[]>> = {
  "update balances set balance = balance + 5": ["balance"],
  "update balances set consumed = consumed + 1": ["consumed", "hours"],
  "update lots set remaining = remaining + 1": ["lot", "balance"],
  "update lots set granted = granted + 1": ["granted"],
  "update balances set held = 3": ["held"],
  "update usage_hours set credits = credits + 1": ["hours", "spent"],
  "update usage_records set charged_credits = 29": ["record"],
  "delete from usage_hours": ["hours", "requests", "spent"],
  "update budget_periods set spent = 0": ["spent"],
  "update budget_periods set held = held + 1": ["budget_held"],
  // the key follows, as it does when a budget is changed
  "update keys set budget_credits = budget_credits + 1": ["allowed"],
  "update balances set requests = requests + 1": ["requests"],
  "insert into holds select request_id, account_id, key_id, 'gw', 5, 0, 9e15, 0, 0, null from usage_records":
    [
      "ended",
    ],
  "insert into entries select account_id, 'expiry_1', id, 'expire', -5, 1 from lots": ["expired"],
};

Deno.test("audit: finds what was done by hand, and names the row", async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/used.db`;
  const { bench, accountId, keyId, lotId, requestId } = await usedLedger();
  {
    await using _bench = bench;
    assertEquals((await audit(bench.database)).mismatches, []);
    await bench.database.all("vacuum into ?", [file]);
  }
  const ids = [accountId, keyId, lotId, requestId];
  // by the database's own shell, which fires triggers
  const damages = Object.keys(DAMAGES).map((damage) => (
    { name: damage, sql: [damage], noun: "lot", triggers: true } as const
  ));
  await withEach(file, damages, async (database, { name: damage }) => {
    await assertFound(database, damage, ids);
  });
});

/** The audit finds a damage, and names the row, by one of these IDs or by what it is of. */
async function assertFound(database: Database, damage: string, ids: readonly string[]) {
  const { mismatches } = await audit(database);
  const found = new Set(mismatches.map(({ kind }) => kind));
  assertEquals(DAMAGES[damage]!.filter((kind) => !found.has(kind)), [], damage);
  const named = [...ids, "pruned_records", " svc-k2"];
  assert(
    mismatches.every(({ id }) => named.some((one) => id.includes(one))),
    `${damage}: the row is named`,
  );
}

for (const kind of possible(["postgres"])) {
  Deno.test(`audit: of a ${kind} finds what was done by hand, and names the row`, async () => {
    // each makes a database
    const drawn = new Random(testSeed()).some(Object.keys(DAMAGES), sized(2, Infinity));
    for (const damage of drawn) {
      const { bench, accountId, keyId, lotId, requestId } = await usedLedger(kind);
      await using _bench = bench;
      await bench.database.batch([{ sql: damage }]);
      await assertFound(bench.database, damage, [accountId, keyId, lotId, requestId]);
    }
  });
}

Deno.test("audit: an entry without its triggers is found", async () => {
  const { bench, accountId, lotId } = await usedLedger();
  await using _bench = bench;
  await bench.database.batch([
    { sql: "drop trigger entries_insert_moves_credits" },
    {
      sql: "insert into entries values (?, 'req_x', ?, 'charge', -5, 1)",
      args: [accountId, lotId],
    },
  ]);
  const found = (await audit(bench.database)).mismatches.map(({ kind, id }) => `${kind} ${id}`);
  for (const one of [`consumed ${accountId}`, `lot ${lotId}`, "not_pruned req_x"]) {
    assert(found.includes(one), one);
  }
  assert(found.includes("schema trigger entries_insert_moves_credits"));
});

for (const kind of possible(["server", "postgres"])) {
  Deno.test(`audit: of a ${kind} finds rows and schema alike`, () => findsRowsAndSchema(kind));
}

async function findsRowsAndSchema(kind: LedgerKind) {
  await using bench = await ledgerBench(kind);
  const caller = await bench.account({ budget: 90 });
  await bench.grant(caller.accountId, 100);
  const requestId = newRequestId(NOW);
  await settlePrice(bench.database, { ...caller, requestId, price: 30, nowMs: NOW });
  assertEquals((await audit(bench.database)).mismatches, []);
  await bench.database.batch([
    {
      sql: `drop trigger entries_delete_is_refused${kind === "postgres" ? " on entries" : ""}`,
    },
    { sql: "drop index lots_by_expiry" },
    { sql: "update usage_hours set route = 'svc-k3'" },
    { sql: "delete from budget_periods" },
  ]);
  const { mismatches } = await audit(bench.database);
  const found = new Set(mismatches.map(({ noun, id }) => `${noun} ${id}`));
  const hour = `hour ${caller.accountId} ${NOW} ${caller.keyId}`;
  const day = `day ${NOW} ${caller.accountId} ${caller.keyId}`;
  assertEquals([...found].toSorted(), [
    `budget key:${caller.keyId}:life 0`,
    `${day} svc-k2`,
    `${day} svc-k3`,
    `hour ${NOW} svc-k2`,
    `hour ${NOW} svc-k3`,
    `${hour} svc-k2`,
    `${hour} svc-k3`,
    "schema index lots_by_expiry",
    "schema trigger entries_delete_is_refused",
  ]);
}

Deno.test("audit: a price that a record was not charged by is found", async () => {
  const { bench, requestId } = await usedLedger();
  await using _bench = bench;
  await bench.database.batch([{ sql: "update usage_records set minimum_credits = 20" }]);
  const { mismatches } = await audit(bench.database);
  assertEquals(mismatches, [
    { noun: "record", kind: "price", id: requestId, found: 30, expected: 20, promise: "P3" },
  ]);
});

Deno.test("audit: what could not be collected is not forgotten with its record", async () => {
  const { bench, accountId, keyId } = await usedLedger();
  await using _bench = bench;
  const requestId = newRequestId(NOW);
  await settlePrice(bench.database, { accountId, keyId, requestId, price: 100, nowMs: NOW });
  const before = (await audit(bench.database)).uncollected;
  assertEquals(before, { requests: 1, credits: 30 }); // the balance has 70 left
  await bench.database.batch([{ sql: "delete from usage_records" }]);
  const { uncollected, mismatches } = await audit(bench.database);
  assertEquals([uncollected, mismatches], [before, []]);
});

Deno.test("a charge whose record was pruned is not taken again", async () => {
  const { bench, accountId, keyId, requestId } = await usedLedger();
  await using _bench = bench;
  await bench.database.batch([{ sql: "delete from usage_records" }]);
  await assertRejects(
    () => settlePrice(bench.database, { accountId, keyId, requestId, price: 30, nowMs: NOW }),
    TypeError,
    "not settled",
  );
  const { mismatches, entries } = await audit(bench.database);
  assertEquals([mismatches, entries], [[], 2]);
});

Deno.test("what is delivered late, after its request has ended, holds nothing", async () => {
  await using bench = await ledgerBench("file");
  const { accountId, keyId } = await bench.account();
  await bench.grant(accountId, 100);
  const tierList = new TierList([{ above: 0, minute: 9, hour: 9, day: 9 }]);
  await bench.database.batch(tierList.statements);
  const requestId = newRequestId(NOW);
  const holder = { requestId, accountId, keyId, gatewayId: "gw", nowMs: NOW, leaseMs: 60_000 };
  const ask = { ...holder, least: 1, wanted: 40, tierListId: tierList.id };
  await admit(bench.database, ask);
  // in one commit: what ends the request, and what it asked for before
  await Promise.all([
    settlePrice(bench.database, { accountId, keyId, requestId, price: 7, nowMs: NOW }),
    growHold(bench.database, { ...holder, wanted: 90, admittedAtMs: NOW }),
  ]);
  await assertRejects(() => admit(bench.database, ask), TypeError, "not decided");
  const { holds, mismatches } = await audit(bench.database);
  assertEquals([holds, mismatches], [0, []]);
  const used = await bench.database.one("select max(used) as used from windows");
  assertEquals(Number(used?.used), 1);
});

Deno.test("entries are only ever added", async () => {
  const { bench } = await usedLedger();
  await using _bench = bench;
  for (const sql of ["update entries set credits = -1", "delete from entries"]) {
    await assertRejects(
      () => bench.database.batch([{ sql }]),
      Error,
      "entries are only ever added",
    );
  }
});

/** A database whose reads can be looked at and answered otherwise. */
function reading(
  database: Database,
  read: (sql: string) => readonly Row[] | undefined,
): Database {
  return {
    ...guardedDatabase(database, () => {}),
    place: database.place,
    dialect: database.dialect,
    all: async (sql, ...args) => [...read(sql) ?? await database.all(sql, ...args)],
  };
}

Deno.test("audit: records are read range by range, for as long as their rows are named", async () => {
  await using bench = await ledgerBench("file");
  const caller = await bench.account();
  await bench.grant(caller.accountId, 1_000);
  const ids = Array.from({ length: 101 }, (_, at) => `req_${String(at).padStart(3, "0")}`);
  await Promise.all(
    ids.map((requestId) =>
      settlePrice(bench.database, { ...caller, requestId, price: 1, nowMs: NOW })
    ),
  );
  await bench.database.batch([{ sql: "update usage_records set minimum_credits = 2" }]);
  const found = async (firstEnd: string) => {
    let [asked, reads] = [0, 0];
    const database = reading(bench.database, (sql) => {
      if (sql.includes("offset")) return asked++ === 0 ? [{ request_id: firstEnd }] : [];
      if (sql.includes("request_id > ?1 and request_id <= ?2")) reads++;
      return undefined;
    });
    const { mismatches } = await audit(database);
    return [reads, mismatches.filter(({ kind }) => kind === "price").length];
  };
  assertEquals(await found(ids[98]!), [2, 101]);
  assertEquals(await found(ids[99]!), [1, 100]);
});

Deno.test("audit: what cannot be read is a mismatch if the data or the schema is why, and fails it otherwise", async () => {
  await using bench = await ledgerBench("file");
  const failing = (error: Error) =>
    reading(bench.database, (sql) => {
      if (sql.startsWith("select (select count(*) from accounts)")) throw error;
      return undefined;
    });
  const found = async (error: Error) =>
    (await audit(failing(error))).mismatches.filter(({ kind }) => kind === "unreadable")
      .map(({ noun, id, found }) => [noun, id, found]);
  const ours = new TypeError("ours");
  const busy = new DatabaseError("SQLITE_BUSY", "busy", { kind: "busy" });
  const odd = new DatabaseError("SQLITE_ERROR", "odd", { kind: "statement" });
  await assertRejects(() => found(ours), TypeError, "ours");
  await assertRejects(() => found(busy), DatabaseError, "busy");
  assertEquals(await found(odd), [["account", "counts", "odd"]]);
  await bench.database.batch([{ sql: "drop index lots_by_expiry" }]);
  await assertRejects(() => found(ours), TypeError, "ours");
  assertEquals(await found(busy), [["schema", "counts", "busy"]]);
});

Deno.test("audit: periods are those of their zone or meet their neighbours, and unknown ones are none", async () => {
  const DAY = 86_400_000;
  const row = (id: string, starts: number, ends = starts + DAY, of: object = {}) => (
    { budget_id: id, period: "day", zone: "UTC", starts_at_ms: starts, ends_at_ms: ends, ...of }
  );
  const found = async (...rows: ReturnType<typeof row>[]) => {
    let reads = 0;
    const all = () => Promise.resolve(reads++ === 0 ? rows : []);
    return (await checkPeriods({ all } as unknown as Database))
      .map(({ kind, id, expected }) => [kind, id, expected]);
  };
  const unknown = (starts: number) => [
    ["period_starts", `a ${starts}`, null],
    ["period_ends", `a ${starts}`, null],
  ];
  assertEquals(await found(row("a", 0), row("a", DAY), row("b", 0)), []);
  // as its rules were changed, one begins where the one before ends
  assertEquals(await found(row("a", 0, DAY + 7), row("a", DAY + 7, 2 * DAY)), []);
  assertEquals(await found(row("a", 0, DAY + 7), row("b", DAY + 7, 2 * DAY)), [
    ["period_ends", "a 0", DAY],
    ["period_starts", `b ${DAY + 7}`, DAY],
  ]);
  assertEquals(await found(row("a", 0, DAY, { period: "fortnight" })), unknown(0));
  assertEquals(await found(row("a", 0, DAY, { zone: "Mars/Olympus" })), unknown(0));
  for (const zone of ["UTC", "Europe/Berlin"]) {
    for (const starts of [8e15, 8.64e15, -8e15]) {
      assertEquals(await found(row("a", starts, 9e15, { zone })), unknown(starts));
    }
  }
  const off = Array.from({ length: 60 }, (_, at) => row(String(at).padStart(2, "0"), 7));
  assertEquals((await found(...off)).length, 100);
});

Deno.test("audit: a list of tiers has its name in any order, a long one in its own or the other way round", async () => {
  await using bench = await ledgerBench("file");
  const tier = (above: number) => ({ above, minute: 1, hour: 1, day: 1 });
  const six = [3, 1, 2, 6, 4, 5];
  const seven = [1, 2, 3, 4, 5, 6, 7];
  for (const order of [[1], six, seven, seven.toReversed()]) {
    await bench.database.batch(new TierList(order.map(tier)).statements);
  }
  assertEquals(await checkTiers(bench.database), []);
  const odd = new TierList([...six, 7].map(tier));
  await bench.database.batch(odd.statements);
  assertEquals((await checkTiers(bench.database)).map(({ id }) => id), [odd.id]);
});
