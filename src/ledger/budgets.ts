import * as z from "zod";
import {
  type Condition,
  type Database,
  type Reading,
  readTogether,
  type Statement,
} from "../database/mod.ts";
import { delay } from "../std/mod.ts";
import { BUDGET_PERIODS, type BudgetPeriod, isTimeZone, periodAt } from "./periods.ts";
import { BUDGET_JSON, periodOf } from "./rules/fragments.ts";
import { PERIOD_OPENINGS } from "./rules/open_period.ts";

/** What a budget is on. */
export type BudgetOwner = "key" | "member" | "team" | "account";

/** Whose budget it is, and how often it renews: there is one of each. */
export interface BudgetName {
  readonly owner: BudgetOwner;
  /** ID of the key, the team or the account; of a member that of the team, a colon, and that of the account. */
  readonly ownerId: string;
  readonly period: BudgetPeriod;
}

/** A budget as it is to be. */
export interface BudgetTerms extends BudgetName {
  /** Credits per period. */
  readonly credits: number;
  /** Time zone in which its periods begin. Default: the one that it has, else `UTC`. */
  readonly zone?: string | undefined;
  /** Percentages at which somebody is warned. Default: those that it has, else 50, 80 and 100. */
  readonly marks?: readonly number[] | undefined;
}

const budgetRow = z.object({
  id: z.string(),
  owner: z.enum(["key", "member", "team", "account"]),
  owner_id: z.string(),
  period: z.enum(["day", "week", "month", "life"]),
  zone: z.string(),
  credits: z.int(),
  raise_credits: z.int(),
  raise_until_ms: z.int(),
  marks: z.array(z.number()),
  set_at_ms: z.int(),
  starts_at_ms: z.int(),
  ends_at_ms: z.int(),
  spent: z.int(),
  held: z.int(),
});

/** A budget in one of its periods. */
export interface Budget extends BudgetName {
  readonly id: string;
  readonly zone: string;
  /** Credits per period, without a raise. */
  readonly credits: number;
  /** Credits in addition, until a time; null when there are none any more. */
  readonly raise: { readonly credits: number; readonly untilMs: number } | null;
  readonly marks: readonly number[];
  readonly setAtMs: number;
  readonly startsAtMs: number;
  /** Start of the next period; null for never. */
  readonly renewsAtMs: number | null;
  /** Credits that requests were charged which were admitted in the period. */
  readonly spent: number;
  /** Credits that in-flight requests hold which were admitted in the period. */
  readonly held: number;
  /** Credits that are neither spent nor held; not below 0. */
  readonly left: number;
}

/** Reads a budget that a rule or a query has said as `BUDGET_JSON`. */
export function readBudget(json: unknown, nowMs: number): Budget {
  const row = budgetRow.parse(json);
  const raise = row.raise_credits > 0 && nowMs < row.raise_until_ms
    ? { credits: row.raise_credits, untilMs: row.raise_until_ms }
    : null;
  return {
    id: row.id,
    owner: row.owner,
    ownerId: row.owner_id,
    period: row.period,
    zone: row.zone,
    credits: row.credits,
    raise,
    marks: row.marks,
    setAtMs: row.set_at_ms,
    startsAtMs: row.starts_at_ms,
    renewsAtMs: row.period === "life" ? null : row.ends_at_ms,
    spent: row.spent,
    held: row.held,
    left: Math.max(0, row.credits + (raise?.credits ?? 0) - row.spent - row.held),
  };
}

/** The id of a budget, which says all of whose it is. */
export function budgetId({ owner, ownerId, period }: BudgetName): string {
  return `${owner}:${ownerId}:${period}`;
}

/** How long gateways have to return what they were lent before a budget was set. */
const PATIENCE_MS = 2_000;
const RETURNED_MS = 25;
/** Budgets whose next period is opened at a time. */
const MAX_OPENED = 500;
const MAX_MARKS = 10;
const MAX_MARK = 1_000;
const DEFAULT_MARKS: readonly number[] = [50, 80, 100];

/** The period of a time, which is an argument twice. */
const PRESENT = periodOf("budgets.id", "?");

const OPEN = `insert into period_openings (${PERIOD_OPENINGS.columns.join(", ")})
  values (?, cast(? as integer), cast(? as integer), cast(? as integer))`;

/**
 * Statements that set a budget, for the transaction that it belongs to: that of a new key, for example. What requests of
 * its keys have spent and hold since the start of its period counts.
 *
 * @param terms The budget. One of the same owner and period is changed: its raise stays; in another time zone its periods
 *   start over.
 * @param nowMs The time by the database's clock, in milliseconds since the epoch.
 * @param keys Selects, as `id`, the keys that it applies to; needed for teams and members, whose keys
 *   the ledger does not know.
 * @throws {RangeError} If the credits, the time zone or the marks are invalid.
 */
export function budgetStatements(
  terms: BudgetTerms,
  { nowMs, zone, keys }: {
    readonly nowMs: number;
    /** Time zone of a budget that is changed and keeps it. */
    readonly zone?: string | undefined;
    readonly keys?: Condition | undefined;
  },
): Statement[] {
  const { owner, ownerId, period, credits, marks } = terms;
  const id = budgetId(terms);
  const inZone = period === "life" ? "UTC" : terms.zone ?? zone ?? "UTC";
  checkTerms({ ...terms, zone: inZone });
  const markText = marks === undefined ? null : JSON.stringify(marks);
  return [
    {
      sql: `delete from budget_periods where budget_id = ?
        and exists (select 1 from budgets where id = ? and zone <> ?)`,
      args: [id, id, inZone],
    },
    {
      sql: `insert into budgets (id, owner, owner_id, period, zone, credits, marks, set_at_ms)
        values (?, ?, ?, ?, ?, ?, coalesce(?, ?), ?)
        on conflict (id) do update set zone = excluded.zone, credits = excluded.credits,
          marks = coalesce(?, marks), set_at_ms = excluded.set_at_ms`,
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
    ...(keys === undefined ? [] : [{
      sql: `insert or ignore into budget_keys (key_id, budget_id)
        select id, ? from (${keys.sql})`,
      args: [id, ...keys.args],
    }]),
    ...openings({ id, period, zone: inZone }, nowMs),
  ];
}

/** Statements that make budgets apply to a key of a team or a member, for the transaction that makes it. */
export function applyBudgets(
  keyId: string,
  owners: readonly Pick<BudgetName, "owner" | "ownerId">[],
): Statement[] {
  return owners.map(({ owner, ownerId }) => ({
    sql: `insert or ignore into budget_keys (key_id, budget_id)
      select ?, id from budgets where owner = ? and owner_id = ?`,
    args: [keyId, owner, ownerId],
  }));
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
  { nowMs, keys, patienceMs = PATIENCE_MS }: {
    readonly nowMs: number;
    /** Selects, as `id`, the keys that it applies to; needed for teams and members. */
    readonly keys?: Condition | undefined;
    /** How long gateways have to return what they were lent. */
    readonly patienceMs?: number;
  },
): Promise<Budget> {
  const id = budgetId(terms);
  const known = await database.one("select zone from budgets where id = ?", [id]);
  const zone = known === undefined ? undefined : String(known.zone);
  await database.batch(budgetStatements(terms, { nowMs, zone, keys }));
  await awaitRecalled(database, patienceMs);
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
    args: [credits, credits === 0 ? 0 : untilMs, budgetId(name)],
  }]);
  return await budgetOf(database, name, nowMs);
}

/**
 * Removes a budget and what is known of its periods. In-flight requests go on.
 *
 * @returns Whether there was one.
 */
export async function removeBudget(database: Database, name: BudgetName): Promise<boolean> {
  const [, , gone] = await database.batch(removeStatements(name));
  return gone!.length > 0;
}

/** Statements that remove a budget, for the transaction that it belongs to. */
export function removeStatements(name: BudgetName): Statement[] {
  const id = budgetId(name);
  return [
    { sql: "delete from budget_periods where budget_id = ?", args: [id] },
    { sql: "delete from budget_keys where budget_id = ?", args: [id] },
    { sql: "delete from budgets where id = ? returning id", args: [id] },
  ];
}

/** One budget in its present period. */
export async function budgetOf(
  database: Database,
  name: BudgetName,
  nowMs: number,
): Promise<Budget | undefined> {
  const which = { sql: "budgets.id = ?", args: [budgetId(name)] };
  return (await budgetsWhere(database, which, nowMs))[0];
}

/** The budgets of an owner, in their present periods; the shortest first. */
export async function budgetsOf(
  database: Database,
  { owner, ownerId }: Pick<BudgetName, "owner" | "ownerId">,
  nowMs: number,
): Promise<readonly Budget[]> {
  const which = { sql: "owner = ? and owner_id = ?", args: [owner, ownerId] };
  return await budgetsWhere(database, which, nowMs);
}

/** The keys' own budgets, by key ID. */
export async function budgetsOfKeys(
  database: Database,
  keyIds: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, readonly Budget[]>> {
  const found = await budgetsWhere(database, {
    sql: "owner = 'key' and owner_id in (select value from json_each(?))",
    args: [JSON.stringify(keyIds)],
  }, nowMs);
  return Map.groupBy(found, ({ ownerId }) => ownerId);
}

/** Reads the budgets that apply to a key, in their periods of a time; those of which there is none yet are left out. */
export function keyBudgetsReading(keyId: string, nowMs: number): Reading<readonly Budget[]> {
  return listReading(ofKey(keyId), nowMs);
}

function ofKey(keyId: string): Condition {
  return {
    sql: "budgets.id in (select budget_id from budget_keys where key_id = ?)",
    args: [keyId],
  };
}

const OWNERS: readonly BudgetOwner[] = ["key", "member", "team", "account"];

function listReading({ sql, args }: Condition, nowMs: number): Reading<readonly Budget[]> {
  return {
    sql: `select json_group_array(json(budget)) from (
        select ${BUDGET_JSON} as budget from budgets join budget_periods on (${PRESENT})
        where ${sql} order by owner_id
      )`,
    args: [nowMs, nowMs, ...args],
    read: (json) =>
      z.array(z.unknown()).parse(json).map((one) => readBudget(one, nowMs)).toSorted((a, b) =>
        OWNERS.indexOf(a.owner) - OWNERS.indexOf(b.owner) || order(a.ownerId, b.ownerId) ||
        BUDGET_PERIODS.indexOf(a.period) - BUDGET_PERIODS.indexOf(b.period)
      ),
  };
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

async function budgetsWhere(
  database: Database,
  which: Condition,
  nowMs: number,
): Promise<readonly Budget[]> {
  await openPeriods(database, nowMs, which);
  return (await readTogether(database, { budgets: listReading(which, nowMs) })).budgets;
}

/** Opens the periods of a time that budgets of a key lack. */
export async function openPeriodsOfKey(
  database: Database,
  keyId: string,
  nowMs: number,
): Promise<void> {
  await openPeriods(database, nowMs, ofKey(keyId));
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
    `select id, period, zone from budgets left join budget_periods on (${PRESENT})
      where ${which.sql} and period <> 'life' and (starts_at_ms is null or not exists (
        select 1 from budget_periods as later
        where later.budget_id = budgets.id and later.starts_at_ms > ?
      )) limit ${MAX_OPENED}`,
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
function openings(
  { id, period, zone }: {
    readonly id: string;
    readonly period: BudgetPeriod;
    readonly zone: string;
  },
  nowMs: number,
): Statement[] {
  const now = periodAt(period, zone, nowMs);
  const openingOf = (atMs: number, { startsAtMs, endsAtMs } = periodAt(period, zone, atMs)) => ({
    sql: OPEN,
    args: [id, atMs, startsAtMs, endsAtMs],
  });
  return period === "life"
    ? [openingOf(nowMs, now)]
    : [openingOf(nowMs, now), openingOf(now.endsAtMs)];
}

/** Waits until the loans that are recalled now have been returned, or nobody is likely to. */
async function awaitRecalled(database: Database, patienceMs: number): Promise<void> {
  const untilTick = performance.now() + patienceMs;
  const recalled = async () =>
    new Set(
      (await database.all("select loan_id from loans where recalled = 1")).map((row) =>
        row.loan_id
      ),
    );
  let open = await recalled();
  while (open.size > 0 && performance.now() < untilTick) {
    await delay(RETURNED_MS);
    open = open.intersection(await recalled());
  }
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

/** Sums of a budget and its raise stay exact. */
const MAX_CREDITS = 1e15;
