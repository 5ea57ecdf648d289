/**
 * Alerts: each mark that was reached, once; where it is to be delivered; conditions that last, such as an open circuit; and
 * which gateway looks for them.
 */

export const ALERTS = [
  // The mark says what was reached, such as `low_credits:acc_1:lot_2`: two gateways that see the same make one alert.
  `create table alerts (
    id text primary key,
    mark text not null unique,
    kind text not null,
    account_id text references accounts (id),
    -- the team whose leads see it
    team_id text references teams (id),
    title text not null,
    text text not null,
    data text not null check (json_valid(data)),
    created_at_ms integer not null,
    read_at_ms integer,
    account_read_at_ms integer
  ) strict`,
  `create index alerts_by_time on alerts (created_at_ms, id)`,
  `create index alerts_by_account on alerts (account_id, created_at_ms, id) where account_id is not null`,
  `create index alerts_by_team on alerts (team_id, created_at_ms, id) where team_id is not null`,
  `create index alerts_unread on alerts (created_at_ms) where read_at_ms is null`,

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
  `create index alert_deliveries_waiting on alert_deliveries (receiver, due_at_ms)
    where state = 'waiting'`,
  `create index alert_deliveries_given_up on alert_deliveries (created_at_ms)
    where state = 'given_up'`,

  `create table alert_conditions (
    name text primary key,
    kind text not null,
    detail text not null,
    began_at_ms integer not null,
    seen_at_ms integer not null,
    alerted integer not null default 0 check (alerted in (0, 1))
  ) strict, without rowid`,

  // What the job remembers from one pass to the next, and which gateway does it.
  `create table alert_jobs (
    name text primary key,
    holder text,
    lease_until_ms integer not null default 0,
    done_at_ms integer not null default 0,
    value text
  ) strict, without rowid`,

  `create index keys_by_expiry on keys (expires_at_ms, id)
    where revoked_at_ms is null and expires_at_ms is not null`,
];
