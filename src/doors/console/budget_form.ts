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
import type { FormRow, PostForm } from "./forms.ts";
import { amountOf, type ConsoleParts, type FormFields } from "./request.tsx";

/** Whose budget a form is about. */
type BudgetOwnerOfForm = Pick<BudgetName, "owner" | "ownerId">;

/** A form about a budget. */
interface BudgetForm {
  readonly operation: WriteOperation;
  /** Reads the input of the write; `undefined` if there is nothing to do. */
  readonly input: (
    form: FormFields,
    owner: BudgetOwnerOfForm,
    parts: { readonly database: Database; readonly now: () => number },
  ) => Promise<Json | undefined>;
  /** The word of the message. */
  readonly done: (input: Json) => string;
}

/** Forms about a budget, by the last part of their paths. */
const BUDGET_FORMS: Readonly<Record<string, BudgetForm>> = {
  "budget": {
    operation: BUDGET_SET,
    input(form, { owner, ownerId }) {
      const terms = termsOf(form);
      if (terms === undefined) throw new AccountError("Enter the credits of the budget");
      return Promise.resolve({ owner, owner_id: ownerId, ...terms });
    },
    done: () => "budget",
  },
  "budget/raise": {
    operation: BUDGET_RAISE,
    async input(form, owner, { database, now }) {
      const credits = form.count("credits", "Credits", BUDGET_CREDITS);
      if (credits === undefined) throw new AccountError("Enter the credits of the raise");
      const name = { ...owner, period: periodOf(form) };
      const budget = await budgetOf(database, name, now());
      if (budget === undefined) throw new AccountError(NO_BUDGET);
      const until = credits === 0 ? {} : { until: isoOf(endOf(form, budget.zone)) };
      return { budget: budgetId(name), credits, ...until };
    },
    done: ({ credits }) => credits === 0 ? "budget-raise-ended" : "budget-raised",
  },
  "budget/remove": {
    operation: BUDGET_REMOVE,
    async input(form, owner, { database, now }) {
      const name = { ...owner, period: periodOf(form) };
      const budget = await budgetOf(database, name, now());
      return budget === undefined ? undefined : { budget: budgetId(name) };
    },
    done: () => "budget-removed",
  },
};

/** Adds the forms about the budgets of an owner, which a row of them finds. */
export function addBudgetForms<Page, About extends object, More>(
  post: PostForm<Page, More>,
  parts: Pick<ConsoleParts, "database" | "now">,
  { path, owner, ...row }: Pick<FormRow<Page, About, More>, "about" | "missing"> & {
    /** Path of the owner, below that of the page. */
    readonly path: string;
    readonly owner: (about: About) => BudgetOwnerOfForm;
  },
): void {
  for (const [last, { operation, input, done }] of Object.entries(BUDGET_FORMS)) {
    post<About>(`${path}/${last}`, operation, {
      ...row,
      input: (form, about) => input(form, owner(about), parts),
      done: (_reply, { input }) => done(input),
    });
  }
}

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
function endOf(form: FormFields, zone: string): number {
  const untilMs = instantAt(zone, form.text("until"));
  if (untilMs === undefined) {
    throw new AccountError("Enter when the raise ends, such as 2026-12-24T18:00");
  }
  return untilMs;
}
