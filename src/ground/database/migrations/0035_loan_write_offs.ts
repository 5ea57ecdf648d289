import type { Migration } from "./migration.ts";

/** Loans of gateways that are gone, which an operator has written off. */
export const LOAN_WRITE_OFFS: Migration = {
  version: 35,
  name: "loan_write_offs",
  statements: [
    // Loans that ended without being returned: what their gateways may have sold on them is not waited for any more.
    `create table loan_write_offs (
      loan_id text primary key,
      -- those that were written off together
      write_off_id text not null,
      account_id text not null references accounts (id),
      gateway_id text not null,
      -- what was free again
      credits integer not null check (credits >= 0),
      -- until when it might be spent
      lease_until_ms integer not null,
      note text not null check (length(note) between 1 and 500),
      at_ms integer not null check (at_ms >= 0)
    ) strict, without rowid`,
    // the sum of an account's, so that none of them can be changed or left out unnoticed
    "alter table balances add column written_off integer not null default 0 check (written_off >= 0)",
  ],
};
