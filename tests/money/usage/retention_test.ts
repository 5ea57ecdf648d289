import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { audit, creditsOf } from "../../../src/money/ledger/mod.ts";
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
