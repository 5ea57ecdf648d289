/**
 * What a request costs besides its tokens, what the gateway counted and its upstream reported, what in-flight requests have
 * asked upstreams for, and from where accounts were registered lately.
 */
export const EXTRAS = [
  // tools that ran at the upstream, and writes to its cache; part of the price
  `alter table usage_records add column extra_credits integer not null default 0
    check (extra_credits between 0 and price_credits)`,
  // tokens, believed or not: for reconciliation; null where nothing was charged, or nothing was reported
  `alter table usage_records add column counted_input integer check (counted_input >= 0)`,
  `alter table usage_records add column counted_output integer check (counted_output >= 0)`,
  `alter table usage_records add column reported_input integer check (reported_input >= 0)`,
  `alter table usage_records add column reported_output integer check (reported_output >= 0)`,
  `alter table settling add column extra_credits`,
  `alter table settling add column counted_input`,
  `alter table settling add column counted_output`,
  `alter table settling add column reported_input`,
  `alter table settling add column reported_output`,

  // The price of the most that its upstream was asked for; a stream holds less at first.
  `alter table holds add column asked integer not null default 0 check (asked >= 0)`,
  `create index holds_by_account on holds (account_id)`,

  // Empty whenever no transaction is open: what may be asked of the upstream, and for how long lent credits may be missing.
  `alter table decisions add column asked integer`,
  `alter table decisions add column lent_ms integer`,

  // Registrations of the last two days by network, for the limit on free credits.
  `create table signups (
    account_id text primary key references accounts (id),
    network text not null check (length(network) between 1 and 64),
    at_ms integer not null
  ) strict, without rowid`,
  `create index signups_by_network on signups (network, at_ms)`,
];
