/** Accounts, keys, usage records with their hourly roll-up. */
export const ACCOUNTS_KEYS_USAGE = [
  `create table accounts (
    id text primary key,
    email text not null unique collate nocase check (length(email) between 3 and 254),
    name text not null check (length(name) <= 200),
    role text not null check (role in ('owner', 'user')),
    created_at_ms integer not null check (created_at_ms >= 0),
    disabled_at_ms integer check (disabled_at_ms >= 0)
  ) strict`,

  `create table keys (
    id text primary key,
    account_id text not null references accounts (id),
    name text not null check (length(name) <= 200),
    digest text not null unique check (length(digest) = 64),
    hint text not null check (length(hint) <= 16),
    source text not null check (source in ('issued', 'environment')),
    models text check (models is null or json_valid(models)),
    budget_credits integer check (budget_credits >= 0),
    created_at_ms integer not null check (created_at_ms >= 0),
    expires_at_ms integer check (expires_at_ms >= 0),
    revoked_at_ms integer check (revoked_at_ms >= 0)
  ) strict`,
  `create index keys_by_account on keys (account_id, created_at_ms)`,

  // What gateways keep copies of, and how often it has changed: they drop a copy when its number moves.
  `create table revisions (
    noun text primary key,
    number integer not null
  ) strict`,
  `insert into revisions (noun, number) values ('keys', 0)`,
  ...["accounts", "keys"].flatMap((table) =>
    ["insert", "update", "delete"].map((event) =>
      `create trigger ${table}_${event}_revises_keys after ${event} on ${table} begin
        update revisions set number = number + 1 where noun = 'keys';
      end`
    )
  ),

  // Request ids begin with their time: the table is in order of time, and is pruned from its front.
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
    duration_ms integer not null check (duration_ms >= 0)
  ) strict, without rowid`,
  `create index usage_records_by_account on usage_records (account_id, started_at_ms)`,

  `create table usage_hours (
    account_id text not null,
    hour_at_ms integer not null check (hour_at_ms % 3600000 = 0),
    key_id text not null,
    route text not null,
    requests integer not null check (requests >= 0),
    errors integer not null check (errors >= 0),
    input_tokens integer not null check (input_tokens >= 0),
    cached_tokens integer not null check (cached_tokens >= 0),
    output_tokens integer not null check (output_tokens >= 0),
    duration_ms integer not null check (duration_ms >= 0),
    primary key (account_id, hour_at_ms, key_id, route)
  ) strict, without rowid`,
];
