import type { Condition, Database, Statement } from "../../ground/database/mod.ts";
import { decide } from "./feed.ts";
import { type BudgetPeriod, periodAt } from "./periods.ts";
import { periodOf } from "./rules/sql/budgets.ts";
import { PERIOD_OPENINGS } from "./rules/open_period.ts";

/** Budgets whose next period is opened at a time. */
const MAX_OPENED = 500;

/** A condition: the period of `budgets.id` at a time, which is an argument twice. */
export const PRESENT_PERIOD = periodOf("budgets.id", "?");

/** The budgets that apply to a key. */
export function budgetsOfKey(keyId: string): Condition {
  return {
    sql: "budgets.id in (select budget_id from budget_keys where key_id = ?)",
    args: [keyId],
  };
}

/** Opens the periods of a time that budgets of a key lack. */
export async function openPeriodsOfKey(
  database: Database,
  keyId: string,
  nowMs: number,
): Promise<void> {
  await openPeriods(database, nowMs, budgetsOfKey(keyId));
}

/**
 * Opens the period of a time, and the next one, of budgets that lack them. Every gateway may do so: their bounds are the
 * same.
 *
 * @param which Which budgets. Default: all.
 */
export async function openPeriods(
  database: Database,
  nowMs: number,
  which: Condition = { sql: "true", args: [] },
): Promise<void> {
  const rows = await database.all(
    `select id, period, zone from budgets left join budget_periods on (${PRESENT_PERIOD})
      where ${which.sql} and period <> 'life' and (starts_at_ms is null or not exists (
        select 1 from budget_periods as later
        where later.budget_id = budgets.id and later.starts_at_ms > ?
      )) order by id limit ${MAX_OPENED}`,
    [nowMs, nowMs, ...which.args, nowMs],
  );
  const statements = rows.flatMap((row) =>
    openings(
      { id: String(row.id), period: row.period as BudgetPeriod, zone: String(row.zone) },
      nowMs,
    )
  );
  if (statements.length > 0) await database.batch(statements);
}

/** Statements that open the period of a time, and the next one. */
export function openings(
  { id, period, zone }: {
    readonly id: string;
    readonly period: BudgetPeriod;
    readonly zone: string;
  },
  nowMs: number,
): Statement[] {
  const now = periodAt(period, zone, nowMs);
  const openingOf = (atMs: number, { startsAtMs, endsAtMs } = periodAt(period, zone, atMs)) =>
    decide(PERIOD_OPENINGS, {
      budget_id: id,
      at_ms: atMs,
      starts_at_ms: startsAtMs,
      ends_at_ms: endsAtMs,
    });
  return period === "life"
    ? [openingOf(nowMs, now)]
    : [openingOf(nowMs, now), openingOf(now.endsAtMs)];
}
