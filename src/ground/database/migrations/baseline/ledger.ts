import { isJson, typeIfNeeded } from "../../../sql/mod.ts";

/** Columns, by their names with spaces in between, that have a type only where an engine needs one. */
function untyped(type: "integer" | "text", columns: string): string {
  return columns.split(" ").map((column) => `${column} ${typeIfNeeded(type)}`).join(", ");
}

/**
 * Credits: what was granted, what is held, what was taken, and within which bounds.
 *
 * ```text
 * accounts ─ balances            sums: balance = sum of entries = sum of what the lots have left, 0 ≤ held ≤ balance
 *    ├────── lots ─── entries    credits that were granted together, and all that ever moved them
 *    ├────── holds, loans        what in-flight requests, and gateways, may still spend
 *    └─ keys ─ budget_keys ─ budgets ─ budget_periods
 * ```
 *
 * Entries are the truth and are only ever added. The rules keep all else in step with them.
 */
export const LEDGER = [
  // An account's sums, so that admitting a request reads one row.
  `create table balances (
    account_id text primary key references accounts (id),
    balance integer not null default 0 check (balance >= 0),
    held integer not null default 0 check (held between 0 and balance),
    consumed integer not null default 0 check (consumed >= 0),
    requests integer not null default 0 check (requests >= 0),
    input_tokens integer not null default 0 check (input_tokens >= 0),
    output_tokens integer not null default 0 check (output_tokens >= 0)
  ) strict, without rowid`,

  // Credits that were granted together. Those that never expire are spent last.
  `create table lots (
    id text primary key,
    account_id text not null references accounts (id),
    source text not null check
      (source in ('signup', 'owner', 'invite_signup', 'invite_payment', 'package', 'grant')),
    note text not null default '' check (length(note) <= 500),
    granted integer not null check (granted > 0),
    remaining integer not null check (remaining between 0 and granted),
    created_at_ms integer not null check (created_at_ms >= 0),
    expires_at_ms integer not null default 9007199254740991 check (expires_at_ms >= 0)
  ) strict`,
  // the order in which lots are spent
  `create index lots_with_credits on lots (account_id, expires_at_ms, created_at_ms, id)
    where remaining > 0`,
  // an account's lots, spent ones too
  `create index lots_by_account on lots (account_id, created_at_ms)`,
  // what expires next, of all accounts
  `create index lots_by_expiry on lots (expires_at_ms)
    where remaining > 0 and expires_at_ms < 9007199254740991`,

  // Each lot as it was granted, only ever added: the audit sees a change of the lot.
  `create table grants (
    lot_id text primary key,
    account_id text not null,
    source text not null,
    note text not null,
    credits integer not null,
    created_at_ms integer not null,
    expires_at_ms integer not null
  ) strict, without rowid`,

  // Every movement of credits. The cause is the ID of a request, of a lot (its grant), of an expiry or of a take-back; it moves
  // each lot once.
  `create table entries (
    account_id text not null,
    cause_id text not null,
    lot_id text not null references lots (id),
    kind text not null check (kind in ('grant', 'charge', 'expire', 'take_back')),
    credits integer not null check (case kind when 'grant' then credits > 0 else credits < 0 end),
    at_ms integer not null check (at_ms >= 0),
    primary key (cause_id, lot_id)
  ) strict, without rowid`,
  // an account's entries, newest first
  `create index entries_by_account on entries (account_id, at_ms)`,
  // statements list these one by one, and an account may have a million charges beside them
  `create index entries_but_charges on entries (account_id, at_ms, kind, credits)
    where kind <> 'charge'`,

  // Credits that were taken back from a lot, each with one entry. `wanted` is null for all that was left.
  `create table take_backs (
    id text primary key,
    account_id text not null references accounts (id),
    lot_id text not null references lots (id),
    credits integer not null check (credits > 0),
    wanted integer check (wanted >= credits),
    note text not null check (length(note) between 1 and 500),
    at_ms integer not null check (at_ms >= 0)
  ) strict, without rowid`,
  // what was taken from a lot
  `create index take_backs_by_lot on take_backs (lot_id)`,

  // What in-flight requests may still spend. Their gateway renews the leases; by the database's clock.
  `create table holds (
    request_id text primary key,
    account_id text not null,
    key_id text not null,
    gateway_id text not null,
    credits integer not null check (credits > 0),
    created_at_ms integer not null,
    lease_until_ms integer not null,
    -- the price of the most that its upstream was asked for; a stream holds less at first
    asked integer not null default 0 check (asked >= 0),
    -- what it lacks of the credits that it may cost: only one of an account may lack any
    lacks integer not null default 0 check (lacks >= 0)
  ) strict, without rowid`,
  // the other holds of an account
  `create index holds_by_account on holds (account_id)`,

  // Credits and places in rate windows that a gateway was lent, and admits requests on without asking.
  `create table loans (
    account_id text not null references accounts (id),
    gateway_id text not null,
    loan_id text not null,
    credits integer not null check (credits >= 0),
    -- requests that it covers in any one minute, hour and day
    minute integer not null check (minute >= 0),
    hour integer not null check (hour >= 0),
    day integer not null check (day >= 0),
    -- whether others need what is lent
    recalled integer not null default 0 check (recalled in (0, 1)),
    lease_until_ms integer not null,
    primary key (account_id, gateway_id)
  ) strict, without rowid`,

  // Spending limits. The ID says whose: a member's owner_id is the team's and the account's, with a colon in between.
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
    -- percentages at which a warning is sent
    marks text not null default '[50,80,100]' check (${isJson("marks")}),
    set_at_ms integer not null check (set_at_ms >= 0)
  ) strict, without rowid`,
  // Which budgets apply to the requests of a key.
  `create table budget_keys (
    key_id text not null references keys (id),
    budget_id text not null references budgets (id),
    primary key (key_id, budget_id)
  ) strict, without rowid`,
  // the keys of a budget
  `create index budget_keys_by_budget on budget_keys (budget_id)`,
  // What requests that were admitted in a period have spent and hold. A life's period ends at 2^53 − 1.
  `create table budget_periods (
    budget_id text not null references budgets (id),
    starts_at_ms integer not null check (starts_at_ms >= 0),
    ends_at_ms integer not null check (ends_at_ms > starts_at_ms),
    spent integer not null check (spent >= 0),
    held integer not null check (held >= 0),
    primary key (budget_id, starts_at_ms)
  ) strict, without rowid`,

  // Requests of a key that were admitted in a minute, an hour, a day of UTC. A row per window, so that a clock which jumps and
  // comes back finds its counts again.
  `create table windows (
    key_id text not null,
    span_ms integer not null,
    at_ms integer not null,
    used integer not null check (used > 0),
    primary key (key_id, span_ms, at_ms)
  ) strict, without rowid`,
  // The same of an account, over all its keys: many keys multiply nothing.
  `create table account_windows (
    account_id text not null,
    span_ms integer not null,
    at_ms integer not null,
    used integer not null check (used > 0),
    primary key (account_id, span_ms, at_ms)
  ) strict, without rowid`,
  // Before when windows were pruned, the longest first: while a day is kept, so are its hours and minutes.
  `create table pruned_windows (before_ms integer not null) strict`,
  `insert into pruned_windows (before_ms) values (0)`,
  // How many requests a balance above a number of credits allows: a list for each wording of the settings.
  `create table tiers (
    list_id text not null,
    above integer not null check (above >= 0),
    minute integer not null check (minute >= 0),
    hour integer not null check (hour >= 0),
    day integer not null check (day >= 0),
    -- null for five times those of a key
    account_minute integer check (account_minute >= 0),
    account_hour integer check (account_hour >= 0),
    account_day integer check (account_day >= 0),
    primary key (list_id, above)
  ) strict, without rowid`,

  // How requests were admitted, until the transaction that decided has read it: empty whenever none is open.
  `create table decisions (
    request_id text primary key,
    at_ms integer not null,
    verdict text not null check (verdict in
      ('admitted', 'period', 'recall', 'rate', 'uncollected', 'budget', 'credits', 'unreserved')),
    credits integer not null,
    -- what the upstream may be asked for
    asked integer,
    lacks integer not null default 0,
    -- for how long lent credits may be missing
    lent_ms integer,
    balance integer not null,
    -- the budget that has the least left
    budget_id text,
    minute_limit integer not null,
    minute_used integer not null,
    hour_limit integer not null,
    hour_used integer not null,
    day_limit integer not null,
    day_used integer not null,
    account_minute_limit integer not null,
    account_minute_used integer not null,
    account_hour_limit integer not null,
    account_hour_used integer not null,
    account_day_limit integer not null,
    account_day_used integer not null
  ) strict, without rowid`,
  // Settlements of a transaction, until it ends. Without types where an engine allows: the tables that they go to check them.
  `create table settling (
    request_id text primary key,
    ${untyped("text", "account_id key_id loan_id dialect route upstream upstream_model")},
    ${untyped("integer", "attempts status")}, ${untyped("text", "ending")},
    ${untyped("integer", "streamed")}, ${untyped("text", "usage_source")},
    ${untyped("integer", "input_tokens cached_tokens output_tokens reasoning_tokens")},
    ${untyped("integer", "started_at_ms first_token_ms duration_ms price_credits")},
    ${untyped("text", "ignored")},
    ${untyped("integer", "input_price cached_price output_price minimum_credits")},
    ${untyped("integer", "admitted_at_ms settled_at_ms")},
    ${untyped("text", "reason message attempt_list")},
    ${untyped("integer", "lent")},
    -- whether it is decided on alone, by the rule 'settle'
    alone integer not null default 0,
    -- what such a request holds, of its own or of a loan
    ${untyped("integer", "holding")},
    ${untyped("text", "tags")},
    ${untyped("integer", "extra_credits counted_input counted_output")},
    ${untyped("integer", "reported_input reported_output")},
    ${untyped("text", "own_key")}
  ) without rowid`,
];
