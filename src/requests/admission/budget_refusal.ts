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

/** What frees what a gateway was lent that is gone. */
const LENT =
  "What that gateway was lent is free again when it is started with its data directory, or when an operator writes it off " +
  "(sluice credits write-off). ";

/**
 * Makes the refusal of a request that a budget does not cover. It names the budget, its owner and period, what is spent, and
 * when it renews; if part of it is lent to a gateway that is gone, what frees that.
 *
 * @param budget The budget with the least left.
 * @param request Who sent the request, the credits that it costs at least, and whether what it lacks is lent to a gateway that is gone.
 */
export function budgetRefusal(
  budget: Budget,
  { caller, least, isLent = false }: {
    readonly caller: Pick<Caller, "teamName" | "memberEmail">;
    readonly least: number;
    readonly isLent?: boolean;
  },
): Refusal {
  const { owner, period, credits, raise, spent, held, renewsAtMs, zone } = budget;
  const total = credits + (raise?.credits ?? 0);
  const parts = [`${spent} of ${creditsText(total)} ${total === 1 ? "is" : "are"} spent`];
  if (held > 0) {
    parts.push(
      isLent
        ? `${held} are held, some of it for a gateway that is gone`
        : `requests in progress hold ${held}`,
    );
  }
  const renews = renewsAtMs === null
    ? "It does not renew."
    : `It renews at ${localTime(renewsAtMs, zone)}.`;
  return new Refusal(
    "budget_spent",
    `The ${KINDS[period]} budget of ${
      ownerText(owner, caller)
    } does not cover this request, which costs at least ` +
      `${creditsText(least)}: ${parts.join(", and ")}. ${isLent ? LENT : ""}${renews} ${
        ADVICE[owner]
      }`,
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
