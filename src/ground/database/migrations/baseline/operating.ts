import { isJson } from "../../../sql/mod.ts";

/** What operators and programs changed, and what the gateway tells them. */
export const OPERATING = [
  // Every change: who, what, from where, before and after. Names are as they were then.
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
    before text check (before is null or ${isJson("before")}),
    after text check (after is null or ${isJson("after")}),
    outcome text not null check (outcome in ('done', 'failed')),
    error text
  ) strict`,
  // pages of the log: all, by who did it, about an account, about a team
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
  // Replies to writes of the operator's API, which a repeated request gets again. The ID follows from account and Idempotency-Key.
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
  // which are old enough to be deleted
  `create index operation_requests_by_time on operation_requests (created_at_ms, id)`,

  // Alerts. The mark says what was reached, such as low_credits:acc_1:lot_2: two gateways that see the same make one alert.
  `create table alerts (
    id text primary key,
    mark text not null unique,
    kind text not null,
    account_id text references accounts (id),
    -- the team whose leads see it
    team_id text references teams (id),
    title text not null,
    text text not null,
    data text not null check (${isJson("data")}),
    created_at_ms integer not null,
    read_at_ms integer,
    account_read_at_ms integer
  ) strict`,
  // lists of alerts: all, of an account, of a team
  `create index alerts_by_time on alerts (created_at_ms, id)`,
  `create index alerts_by_account on alerts (account_id, created_at_ms, id) where account_id is not null`,
  `create index alerts_by_team on alerts (team_id, created_at_ms, id) where team_id is not null`,
  // the number at the bell
  `create index alerts_unread on alerts (created_at_ms) where read_at_ms is null`,
  // Where each alert is delivered, and how often that was tried.
  `create table alert_deliveries (
    alert_id text not null references alerts (id) on delete cascade,
    receiver text not null,
    state text not null default 'waiting' check (state in ('waiting', 'delivered', 'given_up')),
    attempts integer not null default 0 check (attempts >= 0),
    created_at_ms integer not null,
    due_at_ms integer not null,
    claim text,
    status integer,
    error text,
    delivered_at_ms integer,
    primary key (alert_id, receiver)
  ) strict`,
  // what is due at a receiver
  `create index alert_deliveries_waiting on alert_deliveries (receiver, due_at_ms)
    where state = 'waiting'`,
  // what an operator should look at
  `create index alert_deliveries_given_up on alert_deliveries (created_at_ms)
    where state = 'given_up'`,
  // What lasts, such as an open circuit: one alert for as long as it does.
  `create table alert_conditions (
    name text primary key,
    kind text not null,
    detail text not null,
    began_at_ms integer not null,
    seen_at_ms integer not null,
    alerted integer not null default 0 check (alerted in (0, 1))
  ) strict, without rowid`,
  // Which gateway looks for alerts, and what it remembers from one pass to the next.
  `create table alert_jobs (
    name text primary key,
    holder text,
    lease_until_ms integer not null default 0,
    done_at_ms integer not null default 0,
    value text
  ) strict, without rowid`,
];
