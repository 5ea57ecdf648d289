import { DATABASE_CLOCK } from "../rules/sql/shared.ts";
import { type Check, differences } from "./check.ts";

/** The settings allow leases of up to a day; an hour more for a clock that was set. */
const MAX_LEASE_MS = 25 * 3_600_000;

/** By how much the clock of who wrote a loan off may differ from the database's. */
const CLOCKS_MS = 3_600_000;

/** A lease that is not longer than settings allow. */
const LEASE = `min(lease_until_ms, ${DATABASE_CLOCK} + ${MAX_LEASE_MS})`;

/** Holds of in-flight requests, and loans of gateways. */
export const HOLDS: readonly Check[] = [
  {
    noun: "hold",
    name: "holds",
    sql: differences({
      id: "request_id",
      pairs: {
        // settled requests hold nothing
        ended: [
          "holds.credits",
          `iif(exists (select 1 from usage_records where request_id = holds.request_id)
            or exists (select 1 from entries where cause_id = holds.request_id), 0, holds.credits)`,
        ],
        hold_account: ["holds.account_id", "keys.account_id"],
        // a hold is released within a lease after its gateway is gone
        lease: ["lease_until_ms", LEASE],
      },
      from: "holds left join keys on keys.id = key_id",
    }),
  },
  {
    noun: "loan",
    name: "loans",
    sql: differences({
      id: "account_id || ' ' || gateway_id",
      pairs: {
        loan_account: ["account_id", "accounts.id"],
        lease: ["lease_until_ms", LEASE],
      },
      from: "loans left join accounts on accounts.id = account_id",
    }),
  },
  {
    noun: "loan",
    name: "loans that were written off",
    sql: differences({
      id: "write_offs.loan_id",
      pairs: {
        // what was written off is lent to nobody
        lent_again: ["loans.loan_id", "null"],
        // only what could not be spent any more
        lapsed: [
          "write_offs.lease_until_ms",
          `min(write_offs.lease_until_ms, write_offs.at_ms + ${CLOCKS_MS})`,
        ],
      },
      from:
        `loan_write_offs as write_offs left join loans on loans.account_id = write_offs.account_id and loans.loan_id = write_offs.loan_id`,
    }),
  },
];
