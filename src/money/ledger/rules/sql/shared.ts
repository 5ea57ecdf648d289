/** Values and conditions, as SQL that several rules share. `new` is the row that a trigger decides on. */

/** The bound of what has no bound: more credits than anybody has. */
export const UNLIMITED = "9007199254740991";

/**
 * The database's clock, in milliseconds. Leases go by it, as gateways at one server may have clocks that
 * differ by more than a lease.
 */
export const DATABASE_CLOCK = "cast(unixepoch('subsec') * 1000 as integer)";

/** A condition on a loan: it may not be spent any more, and was not returned, so that its gateway is gone, or will return it. */
export const HAS_LAPSED = `lease_until_ms < ${DATABASE_CLOCK}`;

/**
 * A condition: the row of this request is not written by a set of settlements, which keeps the sums itself
 * (`settle_set.ts`).
 */
export function notInSet(requestId: string): string {
  return `not exists (select 1 from settling where request_id = ${requestId} and alone = 0)`;
}

/** A trigger that refuses an event, with a message. */
export function refuse(event: "update" | "delete", table: string, message: string): string {
  return `create trigger ${table}_${event}_is_refused before ${event} on ${table} begin
    select raise(abort, '${message}');
  end`;
}
