import { CLOCK_MS } from "../../../ground/database/mod.ts";
import { paysFor } from "../rules/sql/lots.ts";
import type { Check } from "./check.ts";
import { greatest, iif, least, sumOf } from "../../../ground/sql/mod.ts";

/** The settings allow leases of up to a day; an hour more for a clock that was set. */
const MAX_LEASE_MS = 25 * 3_600_000;

/** By how much the clock of who wrote a loan off may differ from the database's. */
const CLOCKS_MS = 3_600_000;

/** A lease that is not longer than settings allow. */
const LEASE = least("lease_until_ms", `${CLOCK_MS} + ${MAX_LEASE_MS}`);

/** Holds of in-flight requests, and loans of gateways. */
export const HOLDS: readonly Check[] = [
  {
    noun: "hold",
    name: "holds",
    id: "request_id",
    pairs: {
      // settled requests hold nothing
      ended: [
        "holds.credits",
        `case when exists (select 1 from usage_records where request_id = holds.request_id)
          or exists (select 1 from entries where cause_id = holds.request_id) then 0 else holds.credits end`,
      ],
      hold_account: ["holds.account_id", "keys.account_id"],
      // a hold is released within a lease after its gateway is gone
      lease: ["lease_until_ms", LEASE],
    },
    from: "holds left join keys on keys.id = key_id",
  },
  // What bound lots have reserved is what holds reserve of them, which have no more than they hold and pay for.
  {
    noun: "lot",
    name: "reserved credits",
    before: `with reserved_now as materialized (
        select lot_id, ${sumOf("credits")} as credits from bound_holds group by 1
      )`,
    id: "lots.id",
    pairs: { reserved: ["reserved", "coalesce(reserved_now.credits, 0)"] },
    from: "lots left join reserved_now on lot_id = lots.id",
  },
  {
    noun: "hold",
    name: "holds of bound credits",
    id: "bound_holds.request_id",
    pairs: {
      hold_reserved: [
        sumOf("bound_holds.credits"),
        least(sumOf("bound_holds.credits"), "max(holds.credits)"),
      ],
      hold_bound: [
        "count(*)",
        `count(*) filter (where lots.account_id = holds.account_id and ${paysFor("route")})`,
      ],
    },
    from: `bound_holds left join holds on holds.request_id = bound_holds.request_id
      left join lots on lots.id = lot_id`,
    groupBy: "bound_holds.request_id",
  },
  // What is held and lent besides is covered by lots that are not bound.
  {
    noun: "balance",
    name: "credits that are not bound",
    id: "balances.account_id",
    pairs: {
      held_unbound: [
        greatest(`held - ${sumOf("reserved")}`, "0"),
        least(
          greatest(`held - ${sumOf("reserved")}`, "0"),
          sumOf(iif("models is null", "remaining", "0")),
        ),
      ],
    },
    from: `balances join lots on lots.account_id = balances.account_id
      where balances.account_id in (select account_id from lots where models is not null)`,
    groupBy: "balances.account_id",
  },
  {
    noun: "loan",
    name: "loans",
    id: `loans.account_id || ' ' || gateway_id || ${iif("key_id = ''", "''", "' ' || key_id")}`,
    pairs: {
      loan_account: ["loans.account_id", "accounts.id"],
      loan_key: ["loans.key_id", iif("loans.key_id = ''", "''", "keys.id")],
      lease: ["lease_until_ms", LEASE],
    },
    from: `loans left join accounts on accounts.id = loans.account_id
      left join keys on keys.id = loans.key_id and keys.account_id = loans.account_id`,
  },
  {
    noun: "loan",
    name: "loans that were written off",
    id: "write_offs.loan_id",
    pairs: {
      // what was written off is lent to nobody
      lent_again: ["loans.loan_id", "null"],
      // only what could not be spent any more
      lapsed: [
        "write_offs.lease_until_ms",
        least("write_offs.lease_until_ms", `write_offs.at_ms + ${CLOCKS_MS}`),
      ],
    },
    from:
      `loan_write_offs as write_offs left join loans on loans.account_id = write_offs.account_id and loans.loan_id = write_offs.loan_id`,
  },
];
