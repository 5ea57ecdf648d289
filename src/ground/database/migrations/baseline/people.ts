import { isJson } from "../../../sql/mod.ts";

/** Who may use the gateway: accounts, teams, keys; and how people sign in. */
export const PEOPLE = [
  // A person, a service, or the pool of a team: who credits belong to.
  `create table accounts (
    id text primary key,
    email text not null unique collate nocase check (length(email) between 3 and 254),
    name text not null check (length(name) <= 200),
    created_at_ms integer not null check (created_at_ms >= 0),
    disabled_at_ms integer check (disabled_at_ms >= 0),
    invite_code text,
    invited_by text references accounts (id),
    kind text not null default 'person' check (kind in ('person', 'service', 'pool')),
    role text not null default 'none' check (role in ('owner', 'operator', 'finance', 'none'))
  ) strict`,
  // whose code it is
  `create unique index accounts_by_invite_code on accounts (invite_code)`,
  // who used an account's code
  `create index accounts_by_inviter on accounts (invited_by) where invited_by is not null`,
  // Registrations of the last two days by network, for the limit on free credits.
  `create table signups (
    account_id text primary key references accounts (id),
    network text not null check (length(network) between 1 and 64),
    at_ms integer not null
  ) strict, without rowid`,
  // how many there were of a network
  `create index signups_by_network on signups (network, at_ms)`,

  // Accounts that work together, with one payer or each for themselves.
  `create table teams (
    id text primary key,
    name text not null unique collate nocase check (length(name) between 1 and 200),
    -- the account that pays for its keys; null where members pay for their own
    pool_id text unique references accounts (id),
    models text check (models is null or ${isJson("models")}),
    created_at_ms integer not null check (created_at_ms >= 0),
    disabled_at_ms integer check (disabled_at_ms >= 0),
    -- whether requests are sent with its own upstream keys only, first, or after the gateway's
    own_keys text not null default 'first' check (own_keys in ('only', 'first', 'last'))
  ) strict`,
  // Who is in a team, and leads it. A stopped member's keys of the team are rejected.
  `create table team_members (
    team_id text not null references teams (id),
    account_id text not null references accounts (id),
    role text not null check (role in ('lead', 'member')),
    added_at_ms integer not null check (added_at_ms >= 0),
    stopped_at_ms integer check (stopped_at_ms >= 0),
    primary key (team_id, account_id)
  ) strict, without rowid`,
  // the teams of an account
  `create index team_members_by_account on team_members (account_id)`,

  // API keys, by the digest of their secret. The account is the one that pays.
  `create table keys (
    id text primary key,
    account_id text not null references accounts (id),
    name text not null check (length(name) <= 200),
    digest text not null unique check (length(digest) = 64),
    hint text not null check (length(hint) <= 16),
    source text not null check (source in ('issued', 'environment')),
    models text check (models is null or ${isJson("models")}),
    budget_credits integer check (budget_credits >= 0),
    created_at_ms integer not null check (created_at_ms >= 0),
    expires_at_ms integer check (expires_at_ms >= 0),
    revoked_at_ms integer check (revoked_at_ms >= 0),
    -- how many budgets apply to it
    budgets integer not null default 0 check (budgets >= 0),
    team_id text references teams (id),
    -- the account that it was made for, which need not be the one that pays
    member_id text references accounts (id),
    scopes text not null default '["inference"]' check (${isJson("scopes")}),
    -- the secret that was rotated away, and until when it is valid
    previous_digest text check (length(previous_digest) = 64),
    previous_until_ms integer check (previous_until_ms >= 0)
  ) strict`,
  // lists of keys: of an account, of a team, of a member
  `create index keys_by_account on keys (account_id, created_at_ms)`,
  `create index keys_by_team on keys (team_id, created_at_ms) where team_id is not null`,
  `create index keys_by_member on keys (member_id, created_at_ms) where member_id is not null`,
  // a caller that still has the secret of before
  `create unique index keys_by_previous_digest on keys (previous_digest)
    where previous_digest is not null`,
  // which keys expire next, for alerts
  `create index keys_by_expiry on keys (expires_at_ms, id)
    where revoked_at_ms is null and expires_at_ms is not null`,
  // When the latest request of each key began: its record may be pruned, and roll-ups know the hour only.
  `create table key_uses (
    key_id text primary key references keys (id),
    last_used_at_ms integer not null check (last_used_at_ms >= 0)
  ) strict, without rowid`,
  // How often accounts and keys have changed: gateways drop their copies when it moves.
  `create table revisions (
    noun text primary key,
    number integer not null
  ) strict`,
  `insert into revisions (noun, number) values ('keys', 0)`,
  // Keys of upstreams that an account or a team brought.
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
  // those of an owner
  `create index upstream_keys_by_account on upstream_keys (account_id) where account_id is not null`,
  `create index upstream_keys_by_team on upstream_keys (team_id) where team_id is not null`,

  // Passwords of the console, as slow hashes.
  `create table passwords (
    account_id text primary key references accounts (id),
    hash text not null check (length(hash) between 20 and 500),
    changed_at_ms integer not null check (changed_at_ms >= 0)
  ) strict, without rowid`,
  // Links that sign in once, and not for long.
  `create table sign_in_links (
    digest text primary key check (length(digest) = 64),
    account_id text not null references accounts (id),
    expires_at_ms integer not null check (expires_at_ms >= 0)
  ) strict, without rowid`,
  // Browsers that are signed in, by the digest of their cookie.
  `create table sessions (
    digest text primary key check (length(digest) = 64),
    account_id text not null references accounts (id),
    by_link integer not null check (by_link in (0, 1)),
    created_at_ms integer not null check (created_at_ms >= 0),
    expires_at_ms integer not null check (expires_at_ms >= 0)
  ) strict, without rowid`,
  // to end those of an account
  `create index sessions_by_account on sessions (account_id)`,
];
