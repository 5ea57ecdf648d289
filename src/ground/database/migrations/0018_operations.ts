/**
 * What was changed by people and programs: who, what, from where, before and after; and the replies to writes of the
 * operator's API, which a repeated request gets again.
 */

export const OPERATIONS = [
  // Names are as they were: an account may be renamed, a key be revoked.
  `create table operation_log (
    id text primary key not null check (length(id) between 1 and 64),
    at_ms integer not null check (at_ms >= 0),
    operation text not null,
    door text not null check (door in ('console', 'api', 'command')),
    address text,
    -- an email address, or the name of a user of the system
    actor text not null,
    actor_id text,
    key_id text,
    account_id text,
    team_id text,
    object_id text,
    before text check (before is null or json_valid(before)),
    after text check (after is null or json_valid(after)),
    outcome text not null check (outcome in ('done', 'failed')),
    error text
  ) strict`,
  `create index operation_log_by_time on operation_log (at_ms, id)`,
  `create index operation_log_by_actor on operation_log (actor_id, at_ms, id)`,
  `create index operation_log_by_account on operation_log (account_id, at_ms, id)
    where account_id is not null`,
  `create index operation_log_by_team on operation_log (team_id, at_ms, id)
    where team_id is not null`,
  // Rows before this time were deleted, as the settings say; no others are.
  `create table operation_log_pruned (
    id integer primary key check (id = 1),
    before_ms integer not null check (before_ms >= 0)
  ) strict`,
  `insert into operation_log_pruned values (1, 0)`,

  // Its id follows from the account and the Idempotency-Key.
  `create table operation_requests (
    id text primary key not null,
    request_hash text not null check (length(request_hash) = 64),
    created_at_ms integer not null,
    claim text not null,
    claimed_until_ms integer not null,
    status integer check (status between 200 and 599),
    -- encrypted: a reply may have the secret of a new key
    reply text
  ) strict`,
  `create index operation_requests_by_time on operation_requests (created_at_ms, id)`,
];
