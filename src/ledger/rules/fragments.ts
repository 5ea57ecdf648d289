/** SQL that several rules share. `new` is the row that a trigger decides on. */

/** The bound of what has no bound: more credits than anybody has. */
export const UNLIMITED = "9007199254740991";

/**
 * The database's clock, in milliseconds. Leases go by it, as gateways at one server may have clocks that
 * differ by more than a lease.
 */
export const DATABASE_CLOCK = "cast(unixepoch('subsec') * 1000 as integer)";

/** Credits that `new.key_id` may still spend, less what its in-flight requests hold. */
export const BUDGET_LEFT = `coalesce(
      (select credits - spent - held from budgets where key_id = new.key_id), ${UNLIMITED}
    )`;

/**
 * Takes what has expired out of the balance of `new.account_id` before it is looked at.
 *
 * @param causeId An expression for the id of that expiry.
 */
export function expireFirst(causeId: string): string {
  return `insert into expiries (account_id, at_ms, cause_id)
    select new.account_id, new.at_ms, ${causeId}
    where exists (
      select 1 from lots
      where account_id = new.account_id and remaining > 0 and expires_at_ms <= new.at_ms
    );`;
}

/**
 * Takes credits of `new.account_id` from its lots, an entry for each: from the lot that expires first, of
 * several from the oldest.
 *
 * @param credits An expression for how many to take.
 * @param from A condition on the lots; all that have something left by default.
 */
export function takeFromLots(
  { kind, causeId, credits, atMs, from = "true" }: {
    readonly kind: "charge" | "expire";
    readonly causeId: string;
    readonly credits: string;
    readonly atMs: string;
    readonly from?: string;
  },
): string {
  return `insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
    select new.account_id, ${causeId}, id, '${kind}', -taken, ${atMs}
    from (
      select id, min(
        remaining,
        ${credits} + remaining
          - sum(remaining) over (order by expires_at_ms, created_at_ms, id)
      ) as taken
      from lots where account_id = new.account_id and remaining > 0 and ${from}
    )
    where taken > 0;`;
}

/** A trigger that refuses an event, with a message. */
export function refuse(event: "update" | "delete", table: string, message: string): string {
  return `create trigger ${table}_${event}_is_refused before ${event} on ${table} begin
    select raise(abort, '${message}');
  end`;
}

/**
 * What a record's cached input saved, in millionths of credits: its tokens times the difference of the two input prices
 * of its charge. Bounded, so that no price that an operator may set makes a settlement fail.
 *
 * @param record Qualifies the record's columns: `new.`, `old.` or nothing.
 */
export function savedMillionths(record: string): string {
  const [tokens, input, cached] = ["cached_tokens", "input_price", "cached_price"]
    .map((column) => record + column);
  return `coalesce(min(${tokens} * max(${input} - ${cached}, 0), 1000000000000000), 0)`;
}
