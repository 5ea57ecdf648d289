import { BUDGET_PERIODS } from "../ledger/mod.ts";
import type { Json } from "../operations/mod.ts";
import type { FormFields } from "./request.tsx";

/**
 * Returns the budget of a new key in a form, as its operation takes it.
 *
 * @throws {AccountError} If the number of credits is invalid.
 */
export function budgetsOfForm(form: FormFields): Json[] {
  const credits = form.count("budget");
  if (credits === undefined) return [];
  const period = BUDGET_PERIODS.find((one) => one === form.text("period")) ?? "life";
  return [{ period, credits }];
}
