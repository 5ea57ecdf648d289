import type { Migration } from "./migration.ts";

/** Loans of one key, which count in its budgets. */
export const LOANS_OF_KEYS: Migration = {
  version: 36,
  name: "loans_of_keys",
  statements: [
    // Credits and places in rate windows that a gateway was lent, and admits requests on without asking.
    `create table loans_of_keys (
      account_id text not null references accounts (id),
      gateway_id text not null,
      -- the key whose budgets it counts in; empty for keys without budgets
      key_id text not null default '',
      loan_id text not null,
      credits integer not null check (credits >= 0),
      -- requests that it covers in any one minute, hour and day
      minute integer not null check (minute >= 0),
      hour integer not null check (hour >= 0),
      day integer not null check (day >= 0),
      -- whether others need what is lent
      recalled integer not null default 0 check (recalled in (0, 1)),
      lease_until_ms integer not null,
      -- when it was made: it counts in the budgets' periods of that time
      lent_at_ms integer not null default 0,
      primary key (account_id, gateway_id, key_id)
    ) strict, without rowid`,
    `insert into loans_of_keys (account_id, gateway_id, loan_id, credits, minute, hour, day, recalled, lease_until_ms)
      select account_id, gateway_id, loan_id, credits, minute, hour, day, recalled, lease_until_ms from loans`,
    "drop table loans",
    "alter table loans_of_keys rename to loans",
    // the loans of a budget's keys
    "create index loans_by_key on loans (key_id)",
  ],
};
