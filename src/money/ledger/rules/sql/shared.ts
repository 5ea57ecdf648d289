/** Values and conditions, as SQL that several rules share. `new` is the row that a trigger decides on. */

import { CLOCK_MS, either, type Trigger } from "../../../../ground/database/mod.ts";

/** The bound of what has no bound: more credits than anybody has. */
export const UNLIMITED = "9007199254740991";

/**
 * A condition on a loan: it may not be spent any more, and was not returned, so that its gateway is gone, or will return it. Leases go
 * by the database's clock, as gateways at one server may have clocks that differ by more than a lease.
 */
export const HAS_LAPSED = `lease_until_ms < ${CLOCK_MS}`;

/** On PostgreSQL, the setting of a transaction that says whether a set of admissions or settlements writes just now. */
export const SET = "sluice.set";

/**
 * A condition: the row of this request is not written by a set of settlements, which keeps the sums itself
 * (`settle_set.ts`).
 */
export function notInSet(requestId: string): string {
  return either({
    sqlite: `not exists (select 1 from settling where request_id = ${requestId} and alone = 0)`,
    postgres: NOT_IN_SET,
  });
}

/** The same of any row on PostgreSQL, without asking a table. */
export const NOT_IN_SET = `current_setting('${SET}', true) is distinct from 'on'`;

/** A trigger that refuses an event, with a message. */
export function refuse(event: "update" | "delete", table: string, message: string): Trigger {
  return {
    trigger: `${table}_${event}_is_refused`,
    event: `before ${event}`,
    on: table,
    refuses: message,
  };
}

/** Has an `insert … on conflict … do update set` add the new row's sums to those that are there. */
export function addExcluded(table: string, sums: readonly string[]): string {
  return sums.map((sum) => `${sum} = ${table}.${sum} + excluded.${sum}`).join(",\n      ");
}
