/** Budgets and their periods, as SQL that several rules share. `new` is the row that a trigger decides on. */

import { iif, jsonObject, jsonOf, positionIn, sumOf } from "../../../../ground/database/mod.ts";
import { DAY_MS } from "../../../../ground/time.ts";
import { UNLIMITED } from "./shared.ts";

/** Expressions for the owner of a budget. */
interface Owner {
  readonly owner: string;
  readonly ownerId: string;
}

/** A query of columns of the keys to which an owner's budgets apply. */
export function ofKeysOf(columns: string, { owner, ownerId }: Owner): string {
  // that of a member is `team:account`
  const colon = positionIn(ownerId, "':'");
  return [
    `${owner} = 'key' and id = ${ownerId}`,
    `${owner} = 'account' and account_id = ${ownerId}`,
    `${owner} = 'team' and team_id = ${ownerId}`,
    `${owner} = 'member' and team_id = substr(${ownerId}, 1, ${colon} - 1)
      and member_id = substr(${ownerId}, ${colon} + 1)`,
  ].map((condition) => `select ${columns} from keys where ${condition}`).join(
    "\n    union all\n    ",
  );
}

/** The time zones of the world are whole quarters of an hour from UTC, so that periods of budgets begin with one. */
export const QUARTER_MS = 900_000;

/**
 * A condition for a `join`: the row of `budget_periods` is the period of a time that a budget has.
 *
 * @param ofBudget An expression for the budget's id.
 * @param atMs An expression for the time.
 */
export function periodOf(ofBudget: string, atMs: string): string {
  return `budget_periods.budget_id = ${ofBudget}
        and starts_at_ms = (
          select max(those.starts_at_ms) from budget_periods as those
          where those.budget_id = ${ofBudget} and those.starts_at_ms <= ${atMs}
        ) and ends_at_ms > ${atMs}`;
}

/**
 * Credits that a budget has left: those of its period that were not spent, less what in-flight requests hold.
 *
 * @param nowMs An expression for the time: until the end of a raise, that counts too.
 */
export function leftOfBudget(nowMs: string): string {
  return `budgets.credits + ${
    iif(`${nowMs} < raise_until_ms`, "raise_credits", "0")
  } - spent - held`;
}

/**
 * Credits that all budgets of `new.key_id` have left for a request.
 *
 * @param admittedAtMs An expression for the time of its admission: it belongs to the periods of that time.
 * @param nowMs An expression for the time at which a raise must last.
 */
export function budgetLeft(
  { admittedAtMs, nowMs }: { readonly admittedAtMs: string; readonly nowMs: string },
): string {
  return `coalesce((
      select min(${leftOfBudget(nowMs)})
      from budget_keys join budgets on budgets.id = budget_keys.budget_id
        join budget_periods on (${periodOf("budget_keys.budget_id", admittedAtMs)})
      where budget_keys.key_id = new.key_id
    ), ${UNLIMITED})`;
}

/**
 * A condition: the row of `budget_periods` is one that a request of a key counts in.
 *
 * @param keyId An expression for the key.
 * @param atMs An expression for the time of its admission.
 */
export function countsIn(keyId: string, atMs: string): string {
  return `ends_at_ms > ${atMs} and (budget_id, starts_at_ms) in (
        select budget_id, (
          select max(those.starts_at_ms) from budget_periods as those
          where those.budget_id = budget_keys.budget_id and those.starts_at_ms <= ${atMs}
        ) from budget_keys where key_id = ${keyId}
      )`;
}

/**
 * Credits that requests of a budget's keys were charged which were admitted from one time on and before another; of its
 * whole life all that they ever were.
 */
export function spentIn(budgetId: string, fromMs: string, untilMs: string): string {
  const keys = `(select key_id from budget_keys where budget_keys.budget_id = ${budgetId})`;
  const accounts = `(select account_id from keys where id in ${keys})`;
  const admittedAt = "coalesce(admitted_at_ms, started_at_ms)";
  const ever = `(
        select coalesce(${sumOf("credits")}, 0) from usage_hours
        where account_id in ${accounts} and key_id in ${keys}
      )`;
  const between = `(
        select coalesce(${sumOf("charged_credits")}, 0) from usage_records
        where account_id in ${accounts} and key_id in ${keys}
          and started_at_ms between ${fromMs} - ${DAY_MS} and ${untilMs} + ${DAY_MS}
          and ${admittedAt} >= ${fromMs} and ${admittedAt} < ${untilMs}
      ) + (
        select coalesce(${sumOf("credits")}, 0) from pruned_charges
        where key_id in ${keys} and hour_at_ms between ${fromMs} - ${DAY_MS} and ${untilMs} + ${DAY_MS}
          and quarter_at_ms >= ${fromMs} and quarter_at_ms < ${untilMs}
      )`;
  return iif(`${untilMs} = ${UNLIMITED}`, ever, between);
}

/** What requests of a budget's keys hold which were admitted between two times, and what was lent of those keys. */
export const HELD_BY_KEYS = `(
        select key_id, credits, created_at_ms from holds
        union all select key_id, credits, lent_at_ms from loans where key_id <> ''
      )`;

/** Credits that in-flight requests of a budget's keys, and loans of them, hold since a time between two. */
export function heldIn(budgetId: string, fromMs: string, untilMs: string): string {
  return `(
        select coalesce(${sumOf("credits")}, 0) from ${HELD_BY_KEYS} as holders
        where key_id in (select key_id from budget_keys where budget_keys.budget_id = ${budgetId})
          and created_at_ms >= ${fromMs} and created_at_ms < ${untilMs}
      )`;
}

/** A budget in its period, as the columns of a join of `budgets` and `budget_periods`. */
export const BUDGET_JSON = jsonObject({
  id: "budgets.id",
  owner: "owner",
  owner_id: "owner_id",
  period: "period",
  zone: "zone",
  credits: "budgets.credits",
  raise_credits: "raise_credits",
  raise_until_ms: "raise_until_ms",
  marks: jsonOf("marks"),
  set_at_ms: "set_at_ms",
  starts_at_ms: "starts_at_ms",
  ends_at_ms: "ends_at_ms",
  spent: "spent",
  held: "held",
});
