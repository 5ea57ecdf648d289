/** What the tables themselves refuse to every writer: with no rule installed, and with foreign keys and checks alone. */

import { assert, assertEquals } from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";
import { NOUNS, openRaw, writeHistory } from "./corruptions.ts";

/** Names of columns with credits, tokens and counts; the others are times, bounds and words. */
const AMOUNT =
  /credits|balance|held|consumed|granted|remaining|spent|amount|millionths|tokens|requests$|errors$|^used$/;

/** Columns with amounts that no check bounds, and what does instead. */
const UNCHECKED: Readonly<Record<string, string>> = {
  "grants.credits": "a copy of the lot, whose check it passed",
  "pruned_records.uncollected_requests": "sums of checked columns; the audit adds them up again",
  "pruned_records.uncollected_credits": "sums of checked columns; the audit adds them up again",
  "pruned_records.earlier_uncollected_requests": "sums of before this schema",
  "pruned_records.earlier_uncollected_credits": "sums of before this schema",
  "usage_records.minimum_credits": "the price list's, which the settings check",
};

/** Changes of a history that each alone breaks a promise, and what is promised. */
const REFUSED: readonly (readonly [promise: string, sql: string])[] = [
  ["no more is held than there is", "update balances set held = balance + 1"],
  ["a lot never has more left than was granted", "update lots set remaining = granted + 1"],
  ["a charge takes", "update entries set credits = -credits where kind = 'charge'"],
  ["a grant gives", "update entries set credits = -credits where kind = 'grant'"],
  ["nothing else moves credits", "update entries set kind = 'gift'"],
  [
    "a request is charged once, of each lot",
    "insert into entries select account_id, cause_id, lot_id, kind, credits, at_ms + 1 from entries",
  ],
  [
    "an entry is of a lot that exists",
    "insert into entries select account_id, 'one', 'lot_none', kind, credits, at_ms from entries limit 1",
  ],
  ["a request has one hold", "insert into holds select * from holds"],
  ["a hold holds something", "update holds set credits = 0"],
  ["a request is recorded once", "insert into usage_records select * from usage_records"],
  [
    "a charge is never above the price",
    "update usage_records set charged_credits = price_credits + 1",
  ],
  [
    "what is owed is part of the price",
    "update usage_records set owed_credits = price_credits + 1",
  ],
  [
    "what a budget refused is part of the price",
    "update usage_records set over_budget_credits = price_credits + 1",
  ],
  ["extras are part of the price", "update usage_records set extra_credits = price_credits + 1"],
  ["cached tokens are input", "update usage_records set cached_tokens = input_tokens + 1"],
  ["a record is of an account that exists", "update usage_records set account_id = 'acc_none'"],
  ["a gateway has one loan of an account", "insert into loans select * from loans"],
  ["no more is taken back than was asked for", "update take_backs set wanted = credits - 1"],
  ["a budget is whose its ID says", "update budgets set owner_id = owner_id || 'x'"],
  ["a period ends after it starts", "update budget_periods set ends_at_ms = starts_at_ms"],
  ["a payment pays one order", "update orders set payment_id = 'pay_one'"],
  ["an order grants a lot of its own", "update orders set lot_id = 'lot_one'"],
  ["a receipt's number is used once", "update orders set receipt = 1"],
  ["no more is refunded than was paid", "update orders set gone_amount = paid_amount + 1"],
  [
    "a code is redeemed by an account, or not at all",
    "update redemption_codes set redeemed_by = null where redeemed_by is not null",
  ],
  [
    "a revoked code is not redeemed",
    "update redemption_codes set revoked_at_ms = 1 where redeemed_at_ms is not null",
  ],
];

Deno.test("the tables refuse what would break the ledger, without any rule", async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/history.db`;
  await writeHistory(file);
  const raw = openRaw(file);
  try {
    for (
      const { type, name } of raw.prepare(
        "select type, name from sqlite_master where type in ('trigger', 'view') order by type",
      ).all([])
    ) raw.exec(`drop ${type} if exists ${name}`);
    for (const on of ["foreign_keys = on", "ignore_check_constraints = off"]) {
      raw.exec(`pragma ${on}`);
    }
    /** What a statement changes when it does not fail; undone. */
    const accepted = (sql: string): boolean => {
      raw.exec("savepoint one");
      try {
        raw.exec(sql);
        return true;
      } catch (error) {
        assert(/constraint failed|cannot store/i.test(String(error)), `${sql}: ${error}`);
        return false;
      } finally {
        raw.exec("rollback to one");
        raw.exec("release one");
      }
    };
    assertEquals(REFUSED.filter(([, sql]) => accepted(sql)), []);

    const amounts = raw.prepare(
      `select tables.name || '.' || columns.name as name, tables.name as "table", columns.name as "column"
      from sqlite_master as tables join pragma_table_info(tables.name) as columns
      where tables.type = 'table' and columns.type = 'INTEGER'`,
    ).all([]).filter((one) => AMOUNT.test(String(one.column)) && String(one.table) in NOUNS);
    assert(amounts.length > 60, `${amounts.length}`);
    const taken: string[] = [];
    for (const { name, table, column } of amounts) {
      if (raw.prepare(`select count(*) as n from ${table}`).all([])[0]!.n === 0) continue;
      const below = name === "entries.credits" ? "0" : "-1";
      const values = String(name) in UNCHECKED ? ["0.5", "'one'"] : [below, "0.5", "'one'"];
      for (const value of values) {
        if (accepted(`update ${table} set ${column} = ${value}`)) taken.push(`${name} = ${value}`);
      }
    }
    assertEquals(taken, []);
    const known = new Set(amounts.map(({ name }) => name));
    assertEquals(Object.keys(UNCHECKED).filter((name) => !known.has(name)), []);
  } finally {
    raw.close();
  }
});
