/**
 * Budgets with periods, on keys, members of teams, teams and accounts. What was a key's budget becomes one for life.
 */

const SPANS = ["minute", "hour", "day"];
const WINDOWS = ["", "account_"].flatMap((owner) => SPANS.map((span) => owner + span));

/** The end of a period that never ends. */
const NEVER = "9007199254740991";

export const BUDGETS = [
  `alter table budgets rename to key_budgets`,

  // Its id says all of whose it is; a member's owner_id is the team's and the account's, with a colon in between.
  `create table budgets (
    id text primary key check (id = owner || ':' || owner_id || ':' || period),
    owner text not null check (owner in ('key', 'member', 'team', 'account')),
    owner_id text not null,
    period text not null check (period in ('day', 'week', 'month', 'life')),
    zone text not null check (length(zone) between 1 and 64),
    credits integer not null check (credits >= 0),
    -- credits in addition, until a time
    raise_credits integer not null default 0 check (raise_credits >= 0),
    raise_until_ms integer not null default 0 check (raise_until_ms >= 0),
    -- percentages at which somebody is warned
    marks text not null default '[50,80,100]' check (json_valid(marks)),
    set_at_ms integer not null check (set_at_ms >= 0)
  ) strict, without rowid`,
  // Which budgets apply to the requests of a key.
  `create table budget_keys (
    key_id text not null references keys (id),
    budget_id text not null references budgets (id),
    primary key (key_id, budget_id)
  ) strict, without rowid`,
  `create index budget_keys_by_budget on budget_keys (budget_id)`,
  // What was spent, and is held, by requests that were admitted in a period.
  `create table budget_periods (
    budget_id text not null references budgets (id),
    starts_at_ms integer not null check (starts_at_ms >= 0),
    ends_at_ms integer not null check (ends_at_ms > starts_at_ms),
    spent integer not null check (spent >= 0),
    held integer not null check (held >= 0),
    primary key (budget_id, starts_at_ms)
  ) strict, without rowid`,

  `insert into budgets (id, owner, owner_id, period, zone, credits, set_at_ms)
    select 'key:' || key_id || ':life', 'key', key_id, 'life', 'UTC', credits, created_at_ms
    from key_budgets join keys on keys.id = key_id`,
  `insert into budget_keys select key_id, 'key:' || key_id || ':life' from key_budgets`,
  `insert into budget_periods select 'key:' || key_id || ':life', 0, ${NEVER}, spent, held
    from key_budgets`,

  // How many budgets apply to a key.
  `alter table keys add column budgets integer not null default 0 check (budgets >= 0)`,
  `update keys set budgets = 1 where id in (select key_id from key_budgets)`,

  // The part of a price that only a budget did not allow.
  `alter table usage_records add column over_budget_credits integer not null default 0
    check (over_budget_credits between 0 and price_credits)`,
  `update usage_records set over_budget_credits = price_credits - charged_credits - owed_credits
    where price_credits > charged_credits + owed_credits
      and key_id in (select key_id from key_budgets)`,
  `drop table key_budgets`,

  // Charges of pruned records by key, the hour that counts them and the quarter of an hour of their admission: the
  // periods of every time zone begin at one.
  `create table pruned_charges (
    key_id text not null,
    hour_at_ms integer not null check (hour_at_ms % 3600000 = 0),
    quarter_at_ms integer not null check (quarter_at_ms % 900000 = 0),
    credits integer not null check (credits > 0),
    primary key (key_id, hour_at_ms, quarter_at_ms)
  ) strict, without rowid`,
  `insert into pruned_charges
    select key_id, hour_at_ms, hour_at_ms, sum(credits) from pruned_hours where credits > 0
    group by 1, 2`,

  // Empty whenever no transaction is open. As before, but for the verdict 'period', and the budget that has the least
  // left.
  `drop table decisions`,
  `create table decisions (
    request_id text primary key,
    at_ms integer not null,
    verdict text not null check
      (verdict in ('admitted', 'period', 'recall', 'rate', 'uncollected', 'budget', 'credits')),
    credits integer not null,
    balance integer not null,
    budget_id text,
    ${
    WINDOWS.map((name) => `${name}_limit integer not null,\n    ${name}_used integer not null`)
      .join(",\n    ")
  }
  ) strict, without rowid`,
  // What a request holds that is decided on alone, of its own or of a loan.
  `alter table settling add column holding`,
];
