import type { Database, Statement } from "../../ground/database/mod.ts";
import { type Budget, budgetId, type BudgetName, budgetOf } from "./budgets.ts";
import { lockRows } from "../../ground/sql/mod.ts";
import { ofKeysOf } from "./rules/sql/budgets.ts";
import { locks } from "./rules/sql/locks.ts";
import { awaitReturns } from "./loans.ts";
import { openings } from "./open_periods.ts";
import { isTimeZone } from "./periods.ts";

/** A budget as it is to be. */
export interface BudgetTerms extends BudgetName {
  /** Credits per period. */
  readonly credits: number;
  /** Time zone in which its periods begin. Default: the one that it has, else `UTC`. */
  readonly zone?: string | undefined;
  /** Percentages at which somebody is warned. Default: those that it has, else 50, 80 and 100. */
  readonly marks?: readonly number[] | undefined;
}

/** Takes what decisions take, in their order: the accounts of the keys to which it applies, then the budget. */
const [LOCK_ACCOUNTS, LOCK_BUDGET] = locks({
  accounts: ofKeysOf("account_id", { owner: "?1", ownerId: "?2" }),
  budgets: "select ?",
}).map(lockRows) as [string, string];
const MAX_MARKS = 10;
const MAX_MARK = 1_000;
const DEFAULT_MARKS: readonly number[] = [50, 80, 100];
/** Sums of a budget and its raise stay exact. */
const MAX_CREDITS = 1e15;

/**
 * Statements that set a budget, for the transaction that it belongs to: that of a new key, for example. What requests of
 * its keys have spent and hold since the start of its period counts.
 *
 * @param terms The budget. One of the same owner and period is changed: its raise stays; in another time zone its periods
 *   start over.
 * @param nowMs The time by the database's clock, in milliseconds since the epoch.
 * @throws {RangeError} If the credits, the time zone or the marks are invalid.
 */
export function budgetStatements(
  terms: BudgetTerms,
  { nowMs, zone }: {
    readonly nowMs: number;
    /** Time zone of a budget that is changed and keeps it. */
    readonly zone?: string | undefined;
  },
): Statement[] {
  const { owner, ownerId, period, credits, marks } = terms;
  const id = budgetId(terms);
  const inZone = period === "life" ? "UTC" : terms.zone ?? zone ?? "UTC";
  checkTerms({ ...terms, zone: inZone });
  const markText = marks === undefined ? null : JSON.stringify(marks);
  return [
    ...lockStatements(terms),
    {
      sql: `delete from budget_periods where budget_id = ?
        and exists (select 1 from budgets where id = ? and zone <> ?)`,
      args: [id, id, inZone],
    },
    {
      sql: `insert into budgets (id, owner, owner_id, period, zone, credits, marks, set_at_ms)
        values (?, ?, ?, ?, ?, ?, coalesce(?, ?), ?)
        on conflict (id) do update set zone = excluded.zone, credits = excluded.credits,
          marks = coalesce(?, budgets.marks), set_at_ms = excluded.set_at_ms`,
      args: [
        id,
        owner,
        ownerId,
        period,
        inZone,
        credits,
        markText,
        JSON.stringify(DEFAULT_MARKS),
        nowMs,
        markText,
      ],
    },
    ...openings({ id, period, zone: inZone }, nowMs),
  ];
}

/**
 * Sets a budget, or changes the one that its owner has for the same period. Resolves when requests that were admitted before,
 * from credits that were lent to gateways, count in it as well.
 *
 * @param terms The budget.
 * @returns The budget in its present period.
 * @throws {RangeError} If the credits, the time zone or the marks are invalid.
 */
export async function setBudget(
  database: Database,
  terms: BudgetTerms,
  { nowMs, patienceMs, also = [] }: {
    readonly nowMs: number;
    /** How long gateways have to return what they were lent. */
    readonly patienceMs?: number;
    /** Statements for the same transaction. */
    readonly also?: readonly Statement[];
  },
): Promise<Budget> {
  const id = budgetId(terms);
  const known = await database.one("select zone from budgets where id = ?", [id]);
  const zone = known === undefined ? undefined : String(known.zone);
  await database.batch([...budgetStatements(terms, { nowMs, zone }), ...also]);
  await awaitReturns(database, { patienceMs });
  return (await budgetOf(database, terms, nowMs))!;
}

/**
 * Raises a budget for a time: until then there are more credits in each period. Another raise takes the place of one
 * before; 0 credits end it.
 *
 * @returns The budget; undefined if there is none.
 * @throws {RangeError} If the credits are not a whole number.
 */
export async function raiseBudget(
  database: Database,
  name: BudgetName,
  { credits, untilMs, nowMs }: {
    readonly credits: number;
    readonly untilMs: number;
    readonly nowMs: number;
  },
): Promise<Budget | undefined> {
  checkCredits(credits);
  await database.batch([{
    sql: "update budgets set raise_credits = ?, raise_until_ms = ? where id = ?",
    args: [credits, untilMs, budgetId(name)],
  }]);
  return await budgetOf(database, name, nowMs);
}

/**
 * Removes a budget and what is known of its periods. In-flight requests go on.
 *
 * @returns Whether there was one.
 */
export async function removeBudget(database: Database, name: BudgetName): Promise<boolean> {
  const rows = await database.batch(removeStatements(name));
  return rows.at(-1)!.length > 0;
}

/** Statements that remove a budget, for the transaction that it belongs to. */
export function removeStatements(name: BudgetName): Statement[] {
  const id = budgetId(name);
  return [
    ...lockStatements(name),
    { sql: "delete from budget_periods where budget_id = ?", args: [id] },
    { sql: "delete from budget_keys where budget_id = ?", args: [id] },
    { sql: "delete from budgets where id = ? returning id", args: [id] },
  ];
}

function lockStatements(name: BudgetName): Statement[] {
  return [
    { sql: LOCK_ACCOUNTS, args: [name.owner, name.ownerId] },
    { sql: LOCK_BUDGET, args: [budgetId(name)] },
  ];
}

function checkTerms(
  { credits, zone, marks }: BudgetTerms & { readonly zone: string },
): void {
  checkCredits(credits);
  if (!isTimeZone(zone)) {
    throw new RangeError(
      `Unknown time zone ${
        JSON.stringify(zone.slice(0, 80))
      }: use a name such as UTC or Europe/Berlin`,
    );
  }
  if (marks === undefined) return;
  const isValid = marks.length <= MAX_MARKS &&
    marks.every((mark) => Number.isInteger(mark) && mark > 0 && mark <= MAX_MARK);
  if (!isValid) {
    throw new RangeError(
      `Invalid marks: use up to ${MAX_MARKS} whole percentages from 1 to ${MAX_MARK}`,
    );
  }
}

function checkCredits(credits: number): void {
  if (Number.isSafeInteger(credits) && credits >= 0 && credits <= MAX_CREDITS) return;
  throw new RangeError(`Invalid credits ${credits}: must be a whole number up to 10^15`);
}
