/** Lots, as SQL that several rules share. `new` is the row that a trigger decides on. */

/**
 * Whether `new.account_id` has not got credits since its balance last did not cover a charge.
 */
export const OWES = `exists (
          select 1 from usage_records
          where account_id = new.account_id and owed_credits > 0
            and settled_at_ms >=
              (select max(created_at_ms) from lots where account_id = new.account_id)
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
