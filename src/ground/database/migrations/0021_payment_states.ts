/**
 * A dispute's latest state counts, also one that was won and is lost later: the provider's time of the state that is known,
 * and how often a later state was of a lower rank. Events of the provider without an effect are pruned.
 */
export const PAYMENT_STATES = [
  `alter table payment_facts add column as_of_ms integer not null default 0
    check (as_of_ms >= 0)`,
  `alter table payment_facts add column reversals integer not null default 0
    check (reversals >= 0)`,
  `update payment_facts set as_of_ms = at_ms`,

  // Events without an effect, which are pruned: those with one are kept, and would be looked at each time.
  `create index payment_events_without_effect on payment_events (received_at_ms)
    where outcome in ('repeated', 'no_effect', 'unknown')`,

  // When the last webhook came, and the last sweep succeeded, in each mode.
  `create table payment_contacts (
    name text not null check (name in ('webhook', 'sweep')),
    livemode integer not null check (livemode in (0, 1)),
    at_ms integer not null check (at_ms >= 0),
    primary key (name, livemode)
  ) strict, without rowid`,
];
