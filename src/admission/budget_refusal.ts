import { type Budget, type BudgetOwner, type BudgetPeriod, localTime } from "../ledger/mod.ts";
import { Refusal } from "../refusal.ts";
import { creditsText } from "./credits_text.ts";

const KINDS: Readonly<Record<BudgetPeriod, string>> = {
  day: "daily",
  week: "weekly",
  month: "monthly",
  life: "lifetime",
};

const OWNERS: Readonly<Record<BudgetOwner, string>> = {
  key: "this API key",
  member: "this team member",
  team: "this team",
  account: "this account",
};

const ADVICE: Readonly<Record<BudgetOwner, string>> = {
  key: "Raise the budget, or use another key.",
  member: "Ask a lead of the team to raise it.",
  team: "Ask a lead of the team to raise it.",
  account: "Raise the budget.",
};

/**
 * Makes the refusal of a request that a budget does not cover. It names the budget, its owner and period, what is spent, and
 * when it renews.
 *
 * @param least Credits that the request costs at least.
 */
export function budgetRefusal(budget: Budget, least: number): Refusal {
  const { owner, period, credits, raise, spent, held, renewsAtMs, zone } = budget;
  const parts = [`${spent} of ${creditsText(credits + (raise?.credits ?? 0))} are spent`];
  if (held > 0) parts.push(`requests in progress hold ${held}`);
  const renews = renewsAtMs === null
    ? "It does not renew."
    : `It renews at ${localTime(renewsAtMs, zone)}.`;
  return new Refusal(
    "budget_spent",
    `The ${KINDS[period]} budget of ${
      OWNERS[owner]
    } does not cover this request, which costs at least ` +
      `${creditsText(least)}: ${parts.join(", and ")}. ${renews} ${ADVICE[owner]}`,
  );
}
