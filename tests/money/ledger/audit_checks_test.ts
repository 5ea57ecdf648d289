/** No check of the audit is idle: each finds something that it alone says. */

import { type Database, openDatabase } from "../../../src/ground/database/mod.ts";
import { audit, RULES } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { tempDir } from "../../fake/temp.ts";
import { isProof } from "../../tier.ts";
import { onlyReadersOf, withEach, writeHistory } from "./corruptions.ts";

/** What was done to a ledger, and the kinds of mismatches that it must have named. */
interface Planted {
  readonly sql: string | readonly string[];
  readonly kinds: readonly string[];
}

/** An hour's roll-up by a tag, of which no record was pruned. */
const TAG_CELL = `select account_id, at_ms, key_id, route from usage_tags
  where name = 'env' and span_ms = 3600000 order by at_ms desc, key_id limit 1`;
/** The first day of an account that had several values of a tag, on this day and later. */
const TAG_DAY = `(select account_id, min(day_at_ms) from tag_values
  where name = 'env' and value = 'prod' group by account_id)`;

/** What each check, by its name, is there for, each in a ledger of its own. */
const CHECKS: Readonly<Record<string, Planted | readonly Planted[]>> = {
  "schema": { sql: "drop trigger entries_insert_moves_credits", kinds: ["schema"] },
  "entries": {
    sql: "update entries set credits = credits - 1 where kind = 'charge'",
    kinds: ["lot", "consumed"],
  },
  "grant entries": {
    sql: "update entries set at_ms = at_ms - 1 where kind = 'grant'",
    kinds: ["granted_at"],
  },
  "second grants": {
    sql: `insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
      select account_id, 'lot_twice', id, 'grant', 5, 1 from lots limit 1`,
    kinds: ["second_grant"],
  },
  "expiries": {
    sql: "update entries set at_ms = 1 where kind = 'expire'",
    kinds: ["expired"],
  },
  "lots as granted": { sql: "update lots set note = 'other'", kinds: ["note"] },
  "bonuses": {
    sql: "update accounts set invited_by = null",
    kinds: ["bonus"],
  },
  "outcomes of orders": {
    sql: "update orders set state = 'paid' where id = 'ord_disputed'",
    kinds: ["order_state"],
  },
  "receipts": { sql: "update orders set receipt = receipt + 100", kinds: ["receipt"] },
  "lots of orders": {
    sql: "delete from order_credits where kind = 'returned'",
    kinds: ["order_lot"],
  },
  "terms of orders": { sql: "update orders set valid_days = 31", kinds: ["expires"] },
  "take-backs of orders": {
    sql: "update order_credits set credits = credits + 1 where kind = 'taken'",
    kinds: ["taken"],
  },
  "causes of credits": {
    sql: "update order_credits set lot_id = null where kind = 'repaid'",
    kinds: ["names_lot"],
  },
  "credits of refunds": {
    sql: "update order_credits set credits = credits + 1 where kind = 'owed'",
    kinds: ["not_returned"],
  },
  "refunds and disputes": {
    sql: "update order_events set cause_id = 'refund_none' where kind = 'refunded'",
    kinds: ["known"],
  },
  "newest refunds and disputes": {
    sql: "update payment_facts set rank = 3 where kind = 'dispute'",
    kinds: ["newest"],
  },
  "payments of refunds": {
    sql: "update payment_facts set currency = 'eur'",
    kinds: ["payment_of"],
  },
  "events of orders": {
    sql: "update order_events set event_id = 'evt_none' where event_id = 'evt_spent'",
    kinds: ["event_source"],
  },
  "provider's events": {
    sql: "update payment_events set order_id = null",
    kinds: ["applied_to"],
  },
  "redemption codes": {
    sql: "update redemption_codes set credits = credits + 1",
    kinds: ["redeemed_credits"],
  },
  "owners of lots": {
    sql: "update accounts set id = id || 'x'",
    kinds: ["account"],
  },
  "balances": { sql: "update balances set held = held + 1", kinds: ["held"] },
  "budgets": { sql: "delete from budgets", kinds: ["allowed"] },
  "keys of budgets": { sql: "delete from budget_keys", kinds: ["applies"] },
  "budgets of keys": { sql: "update keys set budgets = 0", kinds: ["budgets"] },
  "periods of budgets": {
    sql: "update budget_periods set spent = spent + 1",
    kinds: ["spent"],
  },
  "charges without a period": {
    sql: `delete from budget_periods where budget_id like 'account:%' and starts_at_ms =
      (select max(starts_at_ms) from budget_periods where spent > 0 and budget_id like 'account:%')`,
    kinds: ["no_period"],
  },
  "time zones": {
    sql: "update budgets set zone = 'America/New_York' where zone = 'Europe/Berlin'",
    kinds: ["period_starts", "period_ends"],
  },
  "pruned charges": {
    sql: "update pruned_charges set quarter_at_ms = quarter_at_ms + 86400000",
    kinds: ["admitted_until"],
  },
  "owners of keys": {
    sql: "update keys set account_id = account_id || 'x'",
    kinds: ["key_account"],
  },
  "holds": {
    sql: "update holds set lease_until_ms = lease_until_ms + 9000000000000",
    kinds: ["lease"],
  },
  "charges of bound lots": {
    sql: `update lots set models = '["other"]' where models is not null`,
    kinds: ["charged_bound"],
  },
  "reserved credits": { sql: "update lots set reserved = reserved + 1", kinds: ["reserved"] },
  "holds of bound credits": {
    sql: "update bound_holds set credits = credits + 100",
    kinds: ["hold_reserved"],
  },
  "credits that are not bound": {
    sql: "update balances set held = held + 1000",
    kinds: ["held_unbound"],
  },
  "roll-ups": {
    sql: "update usage_hours set duration_ms = duration_ms + 1",
    kinds: ["hour_duration_ms"],
  },
  "roll-ups by day": {
    sql: "update usage_days set credits = credits + 1",
    kinds: ["day_credits"],
  },
  "roll-ups of all accounts": {
    sql: "update usage_totals set credits = credits + 1",
    kinds: ["total_credits"],
  },
  "totals of days": {
    sql: "update usage_day_totals set credits = credits + 1",
    kinds: ["day_total_credits"],
  },
  "roll-ups by tag": [
    [],
    // what was pruned of another key, and of another route, is no excuse
    ...["key_id || 'x', route", "key_id, route || 'x'"].map((other) => [
      `insert into pruned_hours select account_id, at_ms, ${other}, 1${", 0".repeat(9)}
        from (${TAG_CELL}) as cell`,
    ]),
  ].map((pruned) => ({
    sql: [
      ...pruned,
      `update usage_tags set output_tokens = output_tokens + 1 where name = 'env'
        and span_ms = 3600000 and (account_id, at_ms, key_id, route) = (${TAG_CELL})`,
    ],
    kinds: ["tag_output_tokens"],
  })),
  "roll-ups by tag and day": {
    sql: "update usage_tags set duration_ms = duration_ms + 1 where span_ms = 86400000",
    kinds: ["tag_day_duration_ms"],
  },
  "reasons of failures": {
    sql: "delete from usage_tags where name = ':reason'",
    kinds: ["failures", "failure_errors"],
  },
  "values of tags": [
    "update tag_values set value = value || 'x'",
    `insert or ignore into tag_values
      select names.account_id, day_at_ms, tag_values.name, tag_values.value from tag_values
      join (select account_id, day_at_ms, value from tag_values where name = ':names') as names
      using (day_at_ms) where tag_values.name = names.value`,
    ...[
      "account_id, day_at_ms + 864000000, name, value",
      "account_id, day_at_ms, (select max(name) from tag_values as others where others.name <> tag_values.name), value",
      "account_id, day_at_ms, name, 'x'",
      // tags that no request had: on that day, and at all
      "account_id, day_at_ms + 864000000, ':names', name",
      "account_id, day_at_ms, ':names', 'x'",
    ].map((row) =>
      `insert or ignore into tag_values select ${row} from tag_values where name = 'env'`
    ),
    `insert into tag_values select distinct account_id, at_ms, ':names', ':reason' from usage_tags
      where name = ':reason' and span_ms = 86400000`,
    // a value that only other days have, and a tag that only other days tell apart
    `delete from usage_tags where name = 'env' and value = 'ci' and (account_id, at_ms) in ${TAG_DAY}`,
    `delete from tag_values where name = ':names' and value = 'env'
      and (account_id, day_at_ms) in ${TAG_DAY}`,
  ].map((sql) => ({ sql, kinds: ["tag_value"] })),
  "tags of roll-ups": {
    sql: "delete from tag_values",
    kinds: ["tag_told_apart"],
  },
  "keys of roll-ups": {
    sql: "update keys set account_id = (select id from accounts where id <> account_id limit 1)",
    kinds: ["key_owner"],
  },
  "pruned records": {
    sql: "update pruned_records set records = records + 1",
    kinds: ["pruned_records"],
  },
  "records": [
    { sql: "update usage_records set price_credits = price_credits + 1", kinds: ["price"] },
    {
      sql: `update usage_records set input_price = null, cached_price = null, output_price = null,
        minimum_credits = null where usage_source is not null`,
      kinds: ["prices"],
    },
  ],
  "charges without a record": {
    sql: `insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
      select account_id, 'req_zzz', id, 'charge', -1, 1 from lots limit 1`,
    kinds: ["no_record", "not_pruned"],
  },
  "stored prices": [
    "'req_zzz'",
    // a request that cost nothing needs no prices, and one that has them is no older gateway's
    "(select max(request_id) from usage_records where usage_source is null)",
    "(select max(request_id) from usage_records where input_price is not null)",
  ].map((through) => ({
    sql: `update price_storage set unpriced_through = ${through}`,
    kinds: ["unpriced"],
  })),
  "window spans": {
    sql: "update windows set used = used + 1 where span_ms = 3600000",
    kinds: ["span"],
  },
  "take-backs": [
    { sql: "update take_backs set credits = credits + 5", kinds: ["take_back"] },
    {
      sql: "update take_backs set lot_id = 'lot_other' where id like '%!_bonus' escape '!'",
      kinds: ["take_back_id"],
    },
  ],
  "first payments": [
    { sql: "delete from first_payments", kinds: ["first_payment_row"] },
    {
      sql: `update lots set id = replace(id, 'lot_payment_', 'lot_another_')
        where source = 'invite_payment'`,
      kinds: ["first_payment_row"],
    },
    // no package, and another account's
    ...[
      "account_id = first_payments.account_id and source <> 'package'",
      "account_id <> first_payments.account_id and source = 'package'",
    ].map((lot) => ({
      sql: `update first_payments set lot_id = (select id from lots where ${lot})`,
      kinds: ["first_payment"],
    })),
  ],
  "uses of keys": {
    sql: "update key_uses set last_used_at_ms = last_used_at_ms + 3600000",
    kinds: ["last_used"],
  },
  "account windows": { sql: "delete from account_windows", kinds: ["account_window"] },
  "windows": { sql: "update windows set at_ms = at_ms + 1", kinds: ["begins"] },
  "admissions": {
    sql: "delete from windows",
    kinds: ["admitted"],
  },
  "decisions": {
    sql: `insert into decisions values ('req_1', 1, 'admitted'${", 1".repeat(19)})`,
    kinds: ["decision"],
  },
  "settlements": {
    sql: "insert into settling (request_id) values ('req_1')",
    kinds: ["settling"],
  },
  "loans": {
    sql: "update loans set lease_until_ms = lease_until_ms + 9000000000000",
    kinds: ["lease"],
  },
  "loans that were written off": {
    sql: "update loan_write_offs set lease_until_ms = at_ms + 3600001",
    kinds: ["lapsed"],
  },
  "revisions": { sql: "delete from revisions", kinds: ["revision"] },
  "pruned windows": { sql: "delete from pruned_windows", kinds: ["pruned_windows"] },
  "tiers": { sql: "update tiers set minute = minute + 1", kinds: ["tier"] },
};

/** Steps of an audit that compare nothing. */
const SUMS = ["counts", "lent", "uncollected", "late"];
/** Those that look at files beside the database; settle_test.ts shows them. */
const OF_FILES = ["refused settlements"];

/** A history in a file of its own. */
async function history(): Promise<{ file: string } & AsyncDisposable> {
  const dir = await tempDir();
  const file = `${dir.path}/history.db`;
  await writeHistory(file);
  return { file, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

// Proves P1.
Deno.test("each check of the audit finds what it is for", async (t) => {
  await using written = await history();
  const corruptions = Object.entries(CHECKS).flatMap(([name, planted]) =>
    [planted].flat().map(({ sql, kinds }) => ({
      name,
      kinds,
      sql: [sql].flat(),
      noun: "lot" as const,
      triggers: name === "schema",
    }))
  );
  await withEach(written.file, corruptions, async (database, { name, kinds, sql }, { touched }) => {
    await t.step(name, async () => {
      // what reads nothing that was changed finds what it finds in a good ledger: the proofs ask it all the same
      const isWhole = isProof || name === "schema";
      const { mismatches } = await audit(isWhole ? database : onlyReadersOf(database, touched));
      const found = new Set(mismatches.map(({ kind }) => kind));
      const missed = kinds.filter((kind) => !found.has(kind));
      assertEquals(missed, [], `${sql.join("; ")}: ${[...found].join(", ")}`);
    });
  });
});

Deno.test("each check of the audit has a corruption of its own, and none finds anything in a good ledger", async () => {
  await using written = await history();
  const database = await openDatabase({
    file: written.file,
    durability: "normal",
    rules: RULES,
    now: Date.now,
  });
  await using _closed = { [Symbol.asyncDispose]: () => database.close() };
  const made: string[] = [];
  const { mismatches } = await audit(database, (check) => made.push(check));
  assertEquals(mismatches, []);
  assertEquals(
    made.filter((name) => ![...SUMS, ...OF_FILES].includes(name)).toSorted(),
    Object.keys(CHECKS).toSorted(),
  );
  assert(made.length > 20);
});

Deno.test("no check reads a table, or a list that it makes, once for each row of another", async () => {
  await using written = await history();
  const database = await openDatabase({
    file: written.file,
    durability: "normal",
    rules: RULES,
    now: Date.now,
  });
  await using _closed = { [Symbol.asyncDispose]: () => database.close() };
  const statements: [string, Parameters<Database["all"]>[1]][] = [];
  const watched: Database = {
    ...guardedDatabase(database, () => {}),
    all: (sql, args) => {
      statements.push([sql, args]);
      return database.all(sql, args);
    },
  };
  await audit(watched);
  assert(statements.length > 40, String(statements.length));
  for (const [sql, args] of statements) {
    const plan = (await database.all(`explain query plan ${sql}`, args))
      .map(({ detail }) => String(detail));
    const bad = plan.filter((line, at) =>
      // the list or table on the right of a full join has no index but one that exists
      /^SCAN .*LEFT-JOIN$/.test(line) ||
      /^SCAN (?!CONSTANT ROW|elements VIRTUAL)/.test(line) && /^CORRELATED/.test(plan[at - 1] ?? "")
    );
    assertEquals(bad, [], `${sql}\n${plan.join("\n")}`);
  }
});
