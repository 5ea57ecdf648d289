import { AccountError } from "../../people/accounts/mod.ts";
import type { Database } from "../../ground/database/mod.ts";
import {
  BUDGET_PERIODS,
  budgetId,
  type BudgetName,
  budgetOf,
  type BudgetPeriod,
  instantAt,
} from "../../money/ledger/mod.ts";
import {
  BUDGET_RAISE,
  BUDGET_REMOVE,
  BUDGET_SET,
  isoOf,
  type Json,
  type WriteOperation,
} from "../../operating/operations/mod.ts";
import { wholeIn } from "../../ground/amounts/mod.ts";
import { BUDGET_CREDITS, MARK } from "../../settings/config/mod.ts";
import { amountOf, type FormFields } from "./request.tsx";

/** Whose budget a form is about. */
export type BudgetOwnerOfForm = Pick<BudgetName, "owner" | "ownerId">;

/** What a write of a budget works with. */
interface BudgetWrite {
  readonly database: Database;
  readonly owner: BudgetOwnerOfForm;
  readonly form: FormFields;
  readonly nowMs: number;
  readonly carryOut: (change: Change) => Promise<Json>;
}

/** A write and its input. */
export type Change = readonly [WriteOperation, Json];

/** Forms about a budget, by the last part of their paths; each does its work and returns the word of the message. */
export const BUDGET_FORMS: Readonly<Record<string, (write: BudgetWrite) => Promise<string>>> = {
  "budget": async ({ owner: { owner, ownerId }, form, carryOut }) => {
    const terms = termsOf(form);
    if (terms === undefined) throw new AccountError("Enter the credits of the budget");
    await carryOut([BUDGET_SET, { owner, owner_id: ownerId, ...terms }]);
    return "budget";
  },
  "budget/raise": async ({ database, owner, form, nowMs, carryOut }) => {
    const credits = form.count("credits", "Credits", BUDGET_CREDITS);
    if (credits === undefined) throw new AccountError("Enter the credits of the raise");
    const name = { ...owner, period: periodOf(form) };
    const budget = await budgetOf(database, name, nowMs);
    if (budget === undefined) throw new AccountError(NO_BUDGET);
    const untilMs = credits === 0 ? 0 : endOf(form, budget.zone, nowMs);
    await carryOut([BUDGET_RAISE, {
      budget: budgetId(name),
      credits,
      ...(credits === 0 ? {} : { until: isoOf(untilMs) }),
    }]);
    return credits === 0 ? "budget-raise-ended" : "budget-raised";
  },
  "budget/remove": async ({ database, owner, form, nowMs, carryOut }) => {
    const name = { ...owner, period: periodOf(form) };
    const budget = await budgetOf(database, name, nowMs);
    if (budget !== undefined) await carryOut([BUDGET_REMOVE, { budget: budgetId(name) }]);
    return "budget-removed";
  },
};

const MAX_MARKS = 10;
const NO_BUDGET = "This budget has been removed: set it again before raising it";

/**
 * Returns the budget of a new key in a form, as its operation takes it.
 *
 * @throws {AccountError} If the form has an invalid budget.
 */
export function budgetsOfForm(form: FormFields): Json[] {
  const terms = termsOf(form);
  return terms === undefined ? [] : [terms];
}

/** The budget that a form describes; `undefined` if it has no credits. */
function termsOf(form: FormFields): Json | undefined {
  const credits = form.count("budget", "Budget", BUDGET_CREDITS);
  if (credits === undefined) return undefined;
  return {
    period: periodOf(form),
    credits,
    time_zone: form.text("zone") || undefined,
    marks: form.has("marks") ? marksOf(form.text("marks")) : undefined,
  };
}

function periodOf(form: FormFields): BudgetPeriod {
  return form.choice("period", "when the budget renews", BUDGET_PERIODS);
}

/** Percentages with commas or spaces between; none is an empty text. */
function marksOf(text: string): number[] {
  const parts = text.split(/[\s,;%]+/).filter((part) => part !== "");
  if (parts.length > MAX_MARKS) {
    throw new AccountError(`Too many marks: the limit is ${MAX_MARKS}`);
  }
  const marks = parts.map((part) => amountOf("Each mark", () => wholeIn(part, MARK)));
  return [...new Set(marks)].toSorted((a, b) => a - b);
}

/** The end of a raise, which the form has as a local time of the budget's zone. */
function endOf(form: FormFields, zone: string, nowMs: number): number {
  const untilMs = instantAt(zone, form.text("until"));
  if (untilMs === undefined) {
    throw new AccountError("Enter when the raise ends, such as 2026-12-24T18:00");
  }
  if (untilMs <= nowMs) throw new AccountError("The end of a raise must be in the future");
  return untilMs;
}
