import { AccountError } from "../accounts/mod.ts";
import type { Database, Statement } from "../database/mod.ts";
import {
  BUDGET_PERIODS,
  type BudgetName,
  budgetOf,
  type BudgetPeriod,
  budgetStatements,
  type BudgetTerms,
  instantAt,
  raiseBudget,
  removeBudget,
  setBudget,
} from "../ledger/mod.ts";
import type { FormFields } from "./request.tsx";

/** Whose budget a form is about. */
export type BudgetOwnerOfForm = Pick<BudgetName, "owner" | "ownerId">;

/** What a write of a budget works with. */
interface BudgetWrite {
  readonly database: Database;
  readonly owner: BudgetOwnerOfForm;
  readonly form: FormFields;
  readonly nowMs: number;
}

/** Forms about a budget, by the last part of their paths; each does its work and returns the word of the message. */
export const BUDGET_FORMS: Readonly<Record<string, (write: BudgetWrite) => Promise<string>>> = {
  "budget": async ({ database, owner, form, nowMs }) => {
    const terms = termsOf(form, owner);
    if (terms === undefined) throw new AccountError("Enter the credits of the budget");
    await checked(() => setBudget(database, terms, { nowMs }));
    return "budget";
  },
  "budget/raise": async ({ database, owner, form, nowMs }) => {
    const credits = form.count("credits");
    if (credits === undefined) throw new AccountError("Enter the credits of the raise");
    const name = { ...owner, period: periodOf(form) };
    const budget = await budgetOf(database, name, nowMs);
    if (budget === undefined) throw new AccountError(NO_BUDGET);
    const untilMs = credits === 0 ? 0 : endOf(form, budget.zone, nowMs);
    const raised = await checked(() => raiseBudget(database, name, { credits, untilMs, nowMs }));
    if (raised === undefined) throw new AccountError(NO_BUDGET);
    return credits === 0 ? "budget-raise-ended" : "budget-raised";
  },
  "budget/remove": async ({ database, owner, form }) => {
    await removeBudget(database, { ...owner, period: periodOf(form) });
    return "budget-removed";
  },
};

const NO_BUDGET = "This budget has been removed: set it again before raising it";

/**
 * Statements that give a new key the budget of a form, for the transaction that makes it.
 *
 * @returns None if the form has no credits of a budget.
 * @throws {AccountError} If the form has an invalid budget.
 */
export function budgetOfForm(form: FormFields, keyId: string, nowMs: number): Statement[] {
  try {
    const terms = termsOf(form, { owner: "key", ownerId: keyId });
    return terms === undefined ? [] : budgetStatements(terms, { nowMs });
  } catch (error) {
    throw asAccountError(error);
  }
}

/** The budget that a form describes; `undefined` if it has no credits. */
function termsOf(form: FormFields, owner: BudgetOwnerOfForm): BudgetTerms | undefined {
  const credits = form.count("budget");
  if (credits === undefined) return undefined;
  return {
    ...owner,
    period: periodOf(form),
    credits,
    zone: form.text("zone") || undefined,
    marks: form.has("marks") ? marksOf(form.text("marks")) : undefined,
  };
}

function periodOf(form: FormFields): BudgetPeriod {
  const period = BUDGET_PERIODS.find((one) => one === form.text("period"));
  if (period === undefined) throw new AccountError("Select when the budget renews");
  return period;
}

/** Percentages with commas or spaces between; none is an empty text. */
function marksOf(text: string): number[] {
  const parts = text.split(/[\s,;%]+/).filter((part) => part !== "");
  const marks = parts.map((part) => /^\d{1,4}$/.test(part) ? Number(part) : NaN);
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

/** What the ledger does not take is an invalid form. */
async function checked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asAccountError(error);
  }
}

function asAccountError(error: unknown): unknown {
  return error instanceof RangeError ? new AccountError(error.message, { cause: error }) : error;
}
