/** Lots, as SQL that several rules share. `new` is the row that a trigger decides on. */

import { elementsOf, lastCharacter, least, sumOf } from "../../../../ground/database/mod.ts";
import { addExcluded, UNLIMITED } from "./shared.ts";

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
 * A condition: the credits of the row of `lots` pay for a model. Those of a package may be bound to some, by the IDs of routes
 * and by prefixes that end in `*`.
 *
 * @param route An expression for the model; null for none of them.
 */
export function paysFor(route: string): string {
  const isPrefix = `${lastCharacter("value")} = '*'`;
  return `(models is null or exists (
      select 1 from ${elementsOf("models")} where value = ${route} or ${isPrefix}
        and substr(${route}, 1, length(value) - 1) = substr(value, 1, length(value) - 1)
    ))`;
}

/**
 * Credits of the row of `balances` that are not held, without those of bound lots that are not to be taken from. Of a bound lot
 * the holds are known (`reserved`); all that is held besides, and all that is lent, is held of the lots that are not bound.
 *
 * @param from A condition on the lots that are taken from; of those that are not bound, all are.
 */
export function freeOf(from: string): string {
  return `(balances.balance - balances.held - (
      select coalesce(${sumOf("remaining - reserved")}, 0) from lots
      where lots.account_id = balances.account_id and models is not null and remaining > 0
        and not ${from}
    ))`;
}

/** {@linkcode freeOf} of `new.account_id`. */
export function freeOfAccount(from: string): string {
  return `(select ${freeOf(from)} from balances where balances.account_id = new.account_id)`;
}

/**
 * The order in which lots are taken from: what is bound first, as nothing else can be paid with it; then what expires first;
 * of several the oldest.
 */
export const IN_ORDER = "order by models is null, expires_at_ms, created_at_ms, id";

/**
 * What is taken of the row of `lots`, of credits that are taken from several: what those before it in {@linkcode IN_ORDER} leave, as
 * far as it has them free. Not above 0 for a lot that is not reached.
 *
 * @param credits How many in all: an expression.
 */
function shareOf(credits: string): string {
  return least(
    "remaining - reserved",
    `${credits} + remaining - reserved - ${sumOf("remaining - reserved")} over (${IN_ORDER})`,
  );
}

/**
 * A statement that takes what has expired out of the balance of `new.account_id` before it is looked at.
 *
 * @param causeId An expression for the id of that expiry.
 */
export function expireFirst(causeId: string): string {
  return `insert into expiries (account_id, at_ms, cause_id)
    select new.account_id, new.at_ms, ${causeId}
    where exists (
      select 1 from lots
      where account_id = new.account_id and remaining > 0 and expires_at_ms <= new.at_ms
    )`;
}

/**
 * A statement that takes credits of `new.account_id` that are free from its lots, an entry for each: from bound ones first, then from
 * the lot that expires first, of several from the oldest.
 *
 * @param credits How many to take at most: an expression.
 * @param from A condition on the lots.
 */
export function takeFromLots(
  { kind, causeId, credits = UNLIMITED, atMs, from }: {
    readonly kind: "charge" | "expire";
    readonly causeId: string;
    readonly credits?: string;
    readonly atMs: string;
    readonly from: string;
  },
): string {
  return `insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
    select new.account_id, ${causeId}, id, '${kind}', -taken, ${atMs}
    from (
      select id, ${shareOf(least(credits, freeOfAccount(from)))} as taken
      from lots where account_id = new.account_id and remaining > 0 and ${from}
    ) as shares
    where taken > 0`;
}

/**
 * A statement that has a hold reserve credits of the bound lots of `new.account_id` that pay for its model, as far as they have any
 * that are free.
 *
 * @param credits How many: an expression.
 */
export function reserve(credits: string): string {
  return `insert into bound_holds (request_id, lot_id, credits)
    select new.request_id, id, taken from (
      select id, ${shareOf(credits)} as taken
      from lots where account_id = new.account_id and models is not null and remaining > reserved
        and ${paysFor("new.route")}
    ) as shares
    where taken > 0
    on conflict (request_id, lot_id) do update set ${addExcluded("bound_holds", ["credits"])}`;
}
