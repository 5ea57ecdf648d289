/** Teams with their members, kinds of accounts, roles beside the owner's, and keys of teams with scopes. */
export const TEAMS = [
  `alter table accounts add column kind text not null default 'person'
    check (kind in ('person', 'service', 'pool'))`,
  // The check of the old column allows two roles only: another column takes its place.
  `alter table accounts add column new_role text not null default 'none'
    check (new_role in ('owner', 'operator', 'finance', 'none'))`,
  `update accounts set new_role = 'owner' where role = 'owner'`,
  `alter table accounts drop column role`,
  `alter table accounts rename column new_role to role`,

  `create table teams (
    id text primary key,
    name text not null unique collate nocase check (length(name) between 1 and 200),
    -- the account that pays for its keys; null where members pay for their own
    pool_id text unique references accounts (id),
    models text check (models is null or json_valid(models)),
    created_at_ms integer not null check (created_at_ms >= 0),
    disabled_at_ms integer check (disabled_at_ms >= 0)
  ) strict`,
  `create table team_members (
    team_id text not null references teams (id),
    account_id text not null references accounts (id),
    role text not null check (role in ('lead', 'member')),
    added_at_ms integer not null check (added_at_ms >= 0),
    stopped_at_ms integer check (stopped_at_ms >= 0),
    primary key (team_id, account_id)
  ) strict, without rowid`,
  `create index team_members_by_account on team_members (account_id)`,

  `alter table keys add column team_id text references teams (id)`,
  // The account that the key was made for; it need not be the one that pays.
  `alter table keys add column member_id text references accounts (id)`,
  `alter table keys add column scopes text not null default '["inference"]'
    check (json_valid(scopes))`,
  // The secret that was rotated away, and until when it is valid.
  `alter table keys add column previous_digest text check (length(previous_digest) = 64)`,
  `alter table keys add column previous_until_ms integer check (previous_until_ms >= 0)`,
  `create unique index keys_by_previous_digest on keys (previous_digest)
    where previous_digest is not null`,
  `create index keys_by_team on keys (team_id, created_at_ms) where team_id is not null`,
  `create index keys_by_member on keys (member_id, created_at_ms) where member_id is not null`,
];
