import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { audit, creditsOf } from "../../../src/money/ledger/mod.ts";
import { type Row, type Statement, WrappedDatabase } from "../../../src/ground/database/mod.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { accountUsage, Retention } from "../../../src/money/usage/mod.ts";
import { assertEquals } from "../../assert.ts";
import { ledgerBench, settlePrice } from "../../fake/ledger.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2030, 0, 31);

Deno.test("records go by age and by count, oldest first; roll-ups, entries and balance stay", async () => {
  await using bench = await ledgerBench("file");
  const caller = await bench.account();
  await bench.grant(caller.accountId, 10_000);
  for (let day = 0; day < 20; day++) {
    const nowMs = NOW - day * DAY;
    await Promise.all(
      Array.from(
        { length: 30 },
        () =>
          settlePrice(bench.database, {
            ...caller,
            requestId: newRequestId(nowMs),
            price: 1,
            nowMs,
          }),
      ),
    );
  }
  const count = async () =>
    Number((await bench.database.one("select count(*) as n from usage_records"))!.n);
  const prune = (days: number, rows: number) =>
    new Retention({ database: bench.database, log: SILENT, now: () => NOW, days, rows }).prune();

  assertEquals(await prune(90, 1_000), 0);
  assertEquals(await prune(10, 1_000), 270); // those of 11 to 19 days ago
  assertEquals(await count(), 330);
  assertEquals(await prune(10, 100), 230);
  assertEquals(await count(), 100);
  assertEquals(await prune(10, 100), 0);
  const oldest = await bench.database.one("select min(started_at_ms) as at from usage_records");
  assertEquals(oldest!.at, NOW - 3 * DAY);

  const rows = await accountUsage(bench.database, {
    accountIds: [caller.accountId],
    by: ["model"],
    sinceMs: NOW - 30 * DAY,
    untilMs: NOW + DAY,
  });
  assertEquals(rows.map(({ requests, credits }) => [requests, credits]), [[600, 600]]);
  const { balance, consumed, requests } = await creditsOf(bench.database, caller.accountId, NOW);
  assertEquals([balance, consumed, requests], [9_400, 600, 600]);
  assertEquals((await audit(bench.database)).mismatches, []);
});

Deno.test("as many records as are kept stay, whoever prunes beside, and no step deletes more than 200", async () => {
  await using bench = await ledgerBench("file");
  const caller = await bench.account();
  await bench.grant(caller.accountId, 10_000);
  const ids = Array.from({ length: 900 }, (_, at) => newRequestId(NOW - 900 + at));
  await Promise.all(
    ids.map((requestId) =>
      settlePrice(bench.database, { ...caller, requestId, price: 1, nowMs: NOW })
    ),
  );
  const steps: number[] = [];
  class Counted extends WrappedDatabase {
    override async batch(statements: readonly Statement[]): Promise<Row[][]> {
      const rows = await super.batch(statements);
      if (/^\s*delete from usage_records/.test(statements[0]!.sql)) steps.push(rows[0]!.length);
      return rows;
    }
  }
  const options = { log: SILENT, now: () => NOW, days: 90 };
  for (const rows of [899, 650, 649, 10, 0]) {
    const gateways = Array.from(
      { length: 3 },
      () => new Retention({ ...options, database: new Counted(bench.database), rows }),
    );
    await Promise.all(gateways.map((one) => one.prune()));
    const left = await bench.database.all(
      "select request_id as id from usage_records order by request_id",
    );
    assertEquals(left.map(({ id }) => id), ids.slice(900 - rows));
  }
  assertEquals(Math.max(...steps), 200);
  assertEquals(steps.reduce((sum, rows) => sum + rows, 0), 900);
  assertEquals((await audit(bench.database)).mismatches, []);
});

Deno.test("where records come as fast as they go, each minute all else is pruned, and steps rest no more until they are fewer", async () => {
  await using bench = await ledgerBench("file");
  let nowTick = 0;
  let left = 2_500;
  const asked: string[] = [];
  class Slow extends WrappedDatabase {
    override async batch(statements: readonly Statement[]): Promise<Row[][]> {
      const table = /delete from (\w+)/.exec(statements.at(-1)!.sql)![1]!;
      if (asked.at(-1) !== table) asked.push(table);
      if (table !== "usage_records") return await super.batch(statements);
      nowTick += 25_000;
      const gone = Math.min(left, 200);
      left -= gone;
      return [Array.from({ length: gone }, () => ({ gone: 1 }))];
    }
  }
  const rests: number[] = [];
  const retention = new Retention({
    database: new Slow(bench.database),
    log: SILENT,
    now: () => NOW,
    monotonicNow: () => nowTick,
    delay: (ms) => {
      rests.push(ms);
      return Promise.resolve();
    },
    days: 90,
    rows: 10,
    others: [() => {
      asked.push("others");
      return Promise.resolve(false);
    }],
  });
  await retention.pruneAll();
  assertEquals(left, 0);
  const round = ["kept_items", "account_windows", "others", "usage_records"];
  assertEquals(asked, Array.from({ length: 5 }, () => round).flat());
  assertEquals(rests, [100, 100], "of the first minute's three steps");
  left = 500;
  await retention.prune();
  assertEquals(rests.length, 4);
});

Deno.test("windows of keys and of accounts go after eight days, however many there are", async () => {
  await using bench = await ledgerBench("file");
  const { accountId, keyId } = await bench.account();
  const fill = (table: string, owner: string, id: string, hours: number) => ({
    // one for each hour until now
    sql: `insert into ${table} (${owner}, span_ms, at_ms, used)
      select ?, 3600000, ? - value * 3600000, 1 from generate_series(0, ?)`,
    args: [id, NOW, hours - 1],
  });
  await bench.database.batch([
    fill("windows", "key_id", keyId, 800),
    fill("account_windows", "account_id", accountId, 300),
  ]);
  const options = { database: bench.database, log: SILENT, now: () => NOW, days: 90, rows: 10 };
  assertEquals(await new Retention(options).prune(), 0, "no records");
  const left = await bench.database.one(`select
    (select count(*) from windows) as keys, (select count(*) from account_windows) as accounts,
    (select before_ms from pruned_windows) as before_ms`);
  assertEquals(left, { keys: 193, accounts: 193, before_ms: NOW - 8 * DAY });
});
