import { AccountError } from "../accounts/mod.ts";
import type { Statement } from "../database/mod.ts";
import { BUDGET_PERIODS, budgetStatements } from "../ledger/mod.ts";
import type { FormFields } from "./request.tsx";

/**
 * Statements that give a new key the budget of a form, for the transaction that makes it.
 *
 * @throws {AccountError} If the form has an invalid budget.
 */
export function budgetOfForm(form: FormFields, keyId: string, nowMs: number): Statement[] {
  const credits = form.count("budget");
  if (credits === undefined) return [];
  const period = BUDGET_PERIODS.find((one) => one === form.text("period")) ?? "life";
  try {
    return budgetStatements({ owner: "key", ownerId: keyId, period, credits }, { nowMs });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new AccountError(error.message, { cause: error });
  }
}
