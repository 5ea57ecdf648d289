/** Keys of upstreams that belong to accounts and teams, and with which of them a request was sent. */
export const OWN_KEYS = [
  `create table upstream_keys (
    -- its owner and its upstream
    id text primary key,
    -- one of both
    account_id text references accounts (id),
    team_id text references teams (id),
    upstream text not null check (length(upstream) between 1 and 64),
    -- encrypted for its owner and upstream
    sealed text not null,
    -- the end of the key
    hint text not null check (length(hint) <= 4),
    set_at_ms integer not null,
    check ((account_id is null) <> (team_id is null)),
    check (id = coalesce(account_id, team_id) || ':' || upstream)
  ) strict, without rowid`,
  `create index upstream_keys_by_account on upstream_keys (account_id) where account_id is not null`,
  `create index upstream_keys_by_team on upstream_keys (team_id) where team_id is not null`,

  // whether requests of a team are sent with its own keys only, first, or after the gateway's
  `alter table teams add column own_keys text not null default 'first'
    check (own_keys in ('only', 'first', 'last'))`,

  // whose key the reply came with; null for the gateway's
  `alter table usage_records add column own_key text
    check (own_key in ('account', 'team', 'request'))`,
  `alter table settling add column own_key`,
];
