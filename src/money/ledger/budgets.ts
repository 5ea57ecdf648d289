import * as z from "zod";
import { rowOf } from "../../ground/row.ts";
import {
  type Condition,
  type Database,
  type Reading,
  readTogether,
} from "../../ground/database/mod.ts";
import { budgetsOfKey, openPeriods, PRESENT_PERIOD } from "./open_periods.ts";
import { BUDGET_PERIODS, type BudgetPeriod } from "./periods.ts";
import { BUDGET_JSON } from "./rules/sql/budgets.ts";
import { jsonArrayOfRows, jsonOf, textsOf } from "../../ground/sql/mod.ts";

/** What budgets are on. */
export const BUDGET_OWNERS = ["key", "member", "team", "account"] as const;
/** One of them. */
export type BudgetOwner = typeof BUDGET_OWNERS[number];

/** Whose budget it is, and how often it renews: there is one of each. */
export interface BudgetName {
  readonly owner: BudgetOwner;
  /** ID of the key, the team or the account; of a member that of the team, a colon, and that of the account. */
  readonly ownerId: string;
  readonly period: BudgetPeriod;
}

const budgetRow = rowOf({
  id: z.string(),
  owner: z.enum(BUDGET_OWNERS),
  owner_id: z.string(),
  period: z.enum(BUDGET_PERIODS),
  zone: z.string(),
  /** Credits per period, without a raise. */
  credits: z.int(),
  raise_credits: z.int(),
  raise_until_ms: z.int(),
  marks: z.array(z.number()).readonly(),
  starts_at_ms: z.int(),
  ends_at_ms: z.int(),
  /** Credits that requests were charged which were admitted in the period. */
  spent: z.int(),
  /** Credits that in-flight requests hold which were admitted in the period. */
  held: z.int(),
});

/** A budget in one of its periods. */
export interface Budget
  extends Omit<z.output<typeof budgetRow>, "raiseCredits" | "raiseUntilMs" | "endsAtMs"> {
  /** Credits in addition, until a time; null when there are none any more. */
  readonly raise: { readonly credits: number; readonly untilMs: number } | null;
  /** Start of the next period; null for never. */
  readonly renewsAtMs: number | null;
  /** Credits that are neither spent nor held; not below 0. */
  readonly left: number;
}

/** Reads a budget that a rule or a query has said as `BUDGET_JSON`. */
export function readBudget(json: unknown, nowMs: number): Budget {
  const { raiseCredits, raiseUntilMs, endsAtMs, ...budget } = budgetRow.parse(json);
  const { period, credits, spent, held } = budget;
  const raise = raiseCredits > 0 && nowMs < raiseUntilMs
    ? { credits: raiseCredits, untilMs: raiseUntilMs }
    : null;
  return {
    ...budget,
    raise,
    renewsAtMs: period === "life" ? null : endsAtMs,
    left: Math.max(0, credits + (raise?.credits ?? 0) - spent - held),
  };
}

/** The id of a budget, which says all of whose it is. */
export function budgetId({ owner, ownerId, period }: BudgetName): string {
  return `${owner}:${ownerId}:${period}`;
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
export function budgetsOfKeys(
  database: Database,
  keyIds: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, readonly Budget[]>> {
  return budgetsOfAll(database, "key", { ids: keyIds, nowMs });
}

/** The accounts' own budgets, by account ID. */
export function budgetsOfAccounts(
  database: Database,
  accountIds: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, readonly Budget[]>> {
  return budgetsOfAll(database, "account", { ids: accountIds, nowMs });
}

async function budgetsOfAll(
  database: Database,
  owner: BudgetOwner,
  { ids, nowMs }: { readonly ids: readonly string[]; readonly nowMs: number },
): Promise<ReadonlyMap<string, readonly Budget[]>> {
  const found = await budgetsWhere(database, {
    sql: `owner = ? and owner_id in ${textsOf()}`,
    args: [owner, JSON.stringify(ids)],
  }, nowMs);
  return Map.groupBy(found, ({ ownerId }) => ownerId);
}

/** The budgets of a team's members, by account ID. */
export async function budgetsOfMembers(
  database: Database,
  teamId: string,
  nowMs: number,
): Promise<ReadonlyMap<string, readonly Budget[]>> {
  const found = await budgetsWhere(database, {
    sql: "owner = 'member' and owner_id >= ? and owner_id < ?",
    args: [`${teamId}:`, `${teamId};`],
  }, nowMs);
  return Map.groupBy(found, ({ ownerId }) => ownerId.slice(teamId.length + 1));
}

/** The budgets that apply to any of some keys: their own, and those of their members, teams and accounts. */
export async function budgetsOn(
  database: Database,
  keyIds: readonly string[],
  nowMs: number,
): Promise<readonly Budget[]> {
  return await budgetsWhere(database, {
    sql: `budgets.id in (
        select budget_id from budget_keys where key_id in ${textsOf()}
      )`,
    args: [JSON.stringify(keyIds)],
  }, nowMs);
}

/** Reads the budgets that apply to a key, in their periods of a time; those of which there is none yet are left out. */
export function keyBudgetsReading(keyId: string, nowMs: number): Reading<readonly Budget[]> {
  return listReading(budgetsOfKey(keyId), nowMs);
}

function listReading({ sql, args }: Condition, nowMs: number): Reading<readonly Budget[]> {
  return {
    sql: `select ${jsonArrayOfRows(jsonOf("budget"))} from (
        select ${BUDGET_JSON} as budget from budgets join budget_periods on (${PRESENT_PERIOD})
        where ${sql}
      ) as found`,
    args: [nowMs, nowMs, ...args],
    read: (json) =>
      z.array(z.unknown()).parse(json).map((one) => readBudget(one, nowMs)).toSorted((a, b) =>
        BUDGET_OWNERS.indexOf(a.owner) - BUDGET_OWNERS.indexOf(b.owner) ||
        order(a.ownerId, b.ownerId) ||
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
