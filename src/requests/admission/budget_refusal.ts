import type { Caller } from "../../people/accounts/mod.ts";
import {
  type Budget,
  type BudgetOwner,
  type BudgetPeriod,
  localTime,
} from "../../money/ledger/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import { creditsText } from "./credits_text.ts";

const KINDS: Readonly<Record<BudgetPeriod, string>> = {
  day: "daily",
  week: "weekly",
  month: "monthly",
  life: "lifetime",
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
 * @param budget The budget with the least left.
 * @param request Who sent the request, and the credits that it costs at least.
 */
export function budgetRefusal(
  budget: Budget,
  { caller, least }: {
    readonly caller: Pick<Caller, "teamName" | "memberEmail">;
    readonly least: number;
  },
): Refusal {
  const { owner, period, credits, raise, spent, held, renewsAtMs, zone } = budget;
  const parts = [`${spent} of ${creditsText(credits + (raise?.credits ?? 0))} are spent`];
  if (held > 0) parts.push(`requests in progress hold ${held}`);
  const renews = renewsAtMs === null
    ? "It does not renew."
    : `It renews at ${localTime(renewsAtMs, zone)}.`;
  return new Refusal(
    "budget_spent",
    `The ${KINDS[period]} budget of ${
      ownerText(owner, caller)
    } does not cover this request, which costs at least ` +
      `${creditsText(least)}: ${parts.join(", and ")}. ${renews} ${ADVICE[owner]}`,
  );
}

/** Whose budget it is; the key's team is the only one whose budgets apply to it. */
function ownerText(
  owner: BudgetOwner,
  { teamName, memberEmail }: Pick<Caller, "teamName" | "memberEmail">,
): string {
  if (owner === "key") return "this API key";
  if (owner === "account") return "this account";
  const team = `the team ${teamName}`;
  return owner === "team" ? team : `${memberEmail} in ${team}`;
}
