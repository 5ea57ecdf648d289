/**
 * A dispute's latest state counts, also one that was won and is lost later: the provider's time of the state that is known,
 * and how often a later state was of a lower rank.
 */
export const DISPUTE_STATES = [
  `alter table payment_facts add column as_of_ms integer not null default 0
    check (as_of_ms >= 0)`,
  `alter table payment_facts add column reversals integer not null default 0
    check (reversals >= 0)`,
  `update payment_facts set as_of_ms = at_ms`,
];
