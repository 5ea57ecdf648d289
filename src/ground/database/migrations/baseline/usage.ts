import { isJson } from "../../../sql/mod.ts";

/** What every roll-up of requests adds up, but for credits. */
const COUNTS = `requests integer not null check (requests >= 0),
    errors integer not null check (errors >= 0),
    input_tokens integer not null check (input_tokens >= 0),
    cached_tokens integer not null check (cached_tokens >= 0),
    output_tokens integer not null check (output_tokens >= 0),
    duration_ms integer not null check (duration_ms >= 0)`;
/** The same with credits. */
const SUMS = `${COUNTS},
    credits integer not null check (credits >= 0),
    -- what cached input saved, by the prices of each charge, in millionths of credits: sums are exact
    saved_millionths integer not null check (saved_millionths >= 0)`;

/** Requests that have ended: a record of each, and roll-ups, which outlive the records and are what reports read. */
export const USAGE = [
  // IDs of requests begin with their time: the table is in order of time, and is pruned from its front.
  `create table usage_records (
    request_id text primary key,
    account_id text not null references accounts (id),
    key_id text not null references keys (id),
    dialect text not null,
    route text not null,
    upstream text,
    upstream_model text,
    attempts integer not null check (attempts >= 0),
    status integer not null check (status between 100 and 599),
    ending text not null check (ending in ('complete', 'refused', 'upstream_failed', 'client_left')),
    streamed integer not null check (streamed in (0, 1)),
    usage_source text check (usage_source in ('upstream', 'counted')),
    input_tokens integer not null check (input_tokens >= 0),
    cached_tokens integer not null check (cached_tokens between 0 and input_tokens),
    output_tokens integer not null check (output_tokens >= 0),
    reasoning_tokens integer not null check (reasoning_tokens between 0 and output_tokens),
    started_at_ms integer not null check (started_at_ms >= 0),
    first_token_ms integer check (first_token_ms >= 0),
    duration_ms integer not null check (duration_ms >= 0),
    -- what it cost, what of it was charged, and the balance after that
    price_credits integer not null default 0 check (price_credits >= 0),
    charged_credits integer not null default 0 check (charged_credits between 0 and price_credits),
    balance_credits integer check (balance_credits >= 0),
    -- names of fields that could not be carried to the upstream's dialect
    ignored text not null default '' check (length(ignored) <= 2000),
    -- the prices that the charge was made with; null where nothing was charged
    input_price integer,
    cached_price integer,
    output_price integer,
    minimum_credits integer,
    -- its windows count the one, its entries have the other
    admitted_at_ms integer,
    settled_at_ms integer,
    -- the part of the price that the balance did not cover
    owed_credits integer not null default 0 check (owed_credits between 0 and price_credits),
    -- why it failed; the attempts are null where each got a reply
    reason text check (length(reason) between 1 and 40),
    message text check (length(message) <= 700),
    attempt_list text check (${isJson("attempt_list")}),
    -- the part of the price that only a budget did not allow, which is not owed
    over_budget_credits integer not null default 0 check (over_budget_credits between 0 and price_credits),
    -- an object of names and values; null for none
    tags text check (${isJson("tags")} and length(tags) <= 4000),
    -- tools that ran at the upstream, and writes to its cache; part of the price
    extra_credits integer not null default 0 check (extra_credits between 0 and price_credits),
    -- tokens, believed or not, for reconciliation; null where nothing was charged, or nothing was reported
    counted_input integer check (counted_input >= 0),
    counted_output integer check (counted_output >= 0),
    reported_input integer check (reported_input >= 0),
    reported_output integer check (reported_output >= 0),
    -- whose upstream key the reply came with; null for the gateway's
    own_key text check (own_key in ('account', 'team', 'request'))
  ) strict, without rowid`,
  // an account's requests, newest first
  `create index usage_records_by_account on usage_records (account_id, started_at_ms)`,
  // charges that were not collected in full: the audit's list
  `create index usage_records_uncollected on usage_records (request_id)
    where charged_credits < price_credits`,
  // whether an account owes since its newest lot: then it runs one request at a time
  `create index usage_records_owed on usage_records (account_id, settled_at_ms)
    where owed_credits > 0`,

  // Hours of each account: what its reports and the audit read.
  `create table usage_hours (
    account_id text not null,
    hour_at_ms integer not null check (hour_at_ms % 3600000 = 0),
    key_id text not null,
    route text not null,
    ${COUNTS},
    credits integer not null default 0 check (credits >= 0),
    saved_millionths integer not null default 0 check (saved_millionths >= 0),
    primary key (account_id, hour_at_ms, key_id, route)
  ) strict, without rowid`,
  // Days of UTC, by day first: a report of all accounts reads one piece of it, a twentieth of the hours.
  `create table usage_days (
    day_at_ms integer not null check (day_at_ms % 86400000 = 0),
    account_id text not null,
    key_id text not null,
    route text not null,
    ${SUMS},
    primary key (day_at_ms, account_id, key_id, route)
  ) strict, without rowid`,
  // Hours of all accounts: by hour, or by days of another time zone, those of each key are too many.
  `create table usage_totals (
    hour_at_ms integer not null check (hour_at_ms % 3600000 = 0),
    route text not null,
    ${SUMS},
    primary key (hour_at_ms, route)
  ) strict, without rowid`,
  // Days of all accounts that are over, by 'account', 'model', or 'tag:' and a tag's name. A request that is added to a day takes
  // the day's rows away.
  `create table usage_day_totals (
    day_at_ms integer not null check (day_at_ms % 86400000 = 0),
    noun text not null check (noun in ('account', 'model') or noun like 'tag:_%'),
    value text not null,
    ${SUMS},
    primary key (day_at_ms, noun, value)
  ) strict, without rowid`,
  // Hours and days of each tag. Why a request failed is a tag named ':reason', a name that no client can send.
  `create table usage_tags (
    name text not null,
    span_ms integer not null check (span_ms in (3600000, 86400000)),
    at_ms integer not null check (at_ms % span_ms = 0),
    account_id text not null,
    key_id text not null,
    route text not null,
    value text not null,
    ${SUMS},
    primary key (name, span_ms, at_ms, account_id, key_id, route, value)
  ) strict, without rowid`,
  // Values that an account's roll-ups of a day tell apart, which bounds their number; of the name ':names' the tags.
  `create table tag_values (
    account_id text not null,
    day_at_ms integer not null check (day_at_ms % 86400000 = 0),
    name text not null,
    value text not null,
    primary key (account_id, day_at_ms, name, value)
  ) strict, without rowid`,

  // One row: how many records were pruned, up to which, and what was uncollected of them; 'earlier' is before pruned_hours was
  // kept, in databases that are older than this schema.
  `create table pruned_records (
    records integer not null,
    uncollected_requests integer not null default 0,
    uncollected_credits integer not null default 0,
    through text not null default '',
    earlier_uncollected_requests integer not null default 0,
    earlier_uncollected_credits integer not null default 0
  ) strict`,
  `insert into pruned_records (records) values (0)`,
  // What pruned records added to each hour: usage_hours = sums of the records + pruned_hours.
  `create table pruned_hours (
    account_id text not null,
    hour_at_ms integer not null,
    key_id text not null,
    route text not null,
    ${COUNTS},
    credits integer not null check (credits >= 0),
    uncollected_requests integer not null check (uncollected_requests >= 0),
    uncollected_credits integer not null check (uncollected_credits >= 0),
    saved_millionths integer not null default 0 check (saved_millionths >= 0),
    primary key (account_id, hour_at_ms, key_id, route)
  ) strict, without rowid`,
  // Charges of pruned records by key, their hour and the quarter of an hour of their admission: the budget periods of every time
  // zone begin at one.
  `create table pruned_charges (
    key_id text not null,
    hour_at_ms integer not null check (hour_at_ms % 3600000 = 0),
    quarter_at_ms integer not null check (quarter_at_ms % 900000 = 0),
    credits integer not null check (credits > 0),
    primary key (key_id, hour_at_ms, quarter_at_ms)
  ) strict, without rowid`,
  // One row: charged records up to this one may lack their prices, in databases that are older than this schema, or where an older
  // gateway wrote them.
  `create table price_storage (unpriced_through text not null) strict`,
  `insert into price_storage (unpriced_through) values ('')`,
];
