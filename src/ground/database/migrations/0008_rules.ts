/**
 * Rules move out of the migrations: what decides is installed by its hash from now on (`ledger/rules/`), and
 * migrations hold tables, columns, indexes and changes of data only.
 */

/** All triggers that the migrations made up to here. */
const TRIGGERS = [
  "accounts_delete_revises_keys",
  "accounts_insert_opens_balance",
  "accounts_insert_revises_keys",
  "accounts_update_revises_keys",
  "admissions_decide",
  "entries_delete_is_refused",
  "entries_insert_moves_credits",
  "entries_update_is_refused",
  "expiries_take_credits",
  "first_payments_delete_is_refused",
  "first_payments_update_is_refused",
  "grants_delete_is_refused",
  "grants_update_is_refused",
  "growths_extend_hold",
  "holds_delete_releases",
  "holds_insert_holds",
  "holds_update_holds",
  "keys_delete_revises_keys",
  "keys_insert_opens_budget",
  "keys_insert_revises_keys",
  "keys_update_revises_keys",
  "lots_insert_is_kept",
  "settlements_settle",
  "take_back_requests_decide",
  "take_backs_delete_is_refused",
  "take_backs_insert_takes_credits",
  "take_backs_update_is_refused",
  "usage_records_delete_is_counted",
  "usage_records_insert_adds_up",
  "usage_records_insert_marks_key",
  "usage_records_insert_without_prices",
];
const VIEWS = ["admissions", "expiries", "growths", "settlements", "take_back_requests"];

export const RULES_ASIDE = [
  ...TRIGGERS.map((name) => `drop trigger if exists ${name}`),
  ...VIEWS.map((name) => `drop view if exists ${name}`),

  // One row: the rules that are installed, and the objects that they made, to be dropped before the next ones.
  `create table installed_rules (
    id integer primary key check (id = 1),
    revision integer not null check (revision >= 0),
    hash text not null,
    objects text not null check (json_valid(objects)),
    installed_at_ms integer not null check (installed_at_ms >= 0)
  ) strict`,
  `insert into installed_rules (id, revision, hash, objects, installed_at_ms)
    values (1, 0, '', '[]', 0)`,

  // A row that is rewritten to see whether the database takes writes.
  `create table probes (
    id integer primary key check (id = 1),
    number integer not null
  ) strict`,
  `delete from revisions where noun = 'probe'`,
];
