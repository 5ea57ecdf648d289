import type { AccountStatus, Budget } from "../../money/ledger/mod.ts";
import { markOf, PERIOD_NAMES, type Share, shareOf, usedFraction } from "./live_credits.ts";

const SEVERITIES = new Map([[0.95, "critical"], [0.75, "warning"]]);

/**
 * The body of `GET /api/oauth/usage`, from which Claude Code shows amounts in dollars.
 *
 * @param status The caller's status, with the budget that its headers describe.
 * @param more All budgets that apply to the key; what was granted, if the balance is the caller's own; and credits for a dollar.
 * @returns Amounts in cents, and a row for each budget, or for the balance if there is none.
 */
export function toolUsage(
  status: Pick<AccountStatus, "balance" | "budget">,
  { budgets, granted, perUsd }: {
    readonly budgets: readonly Budget[];
    readonly granted: number | undefined;
    readonly perUsd: number;
  },
) {
  const active = shareOf(status, granted);
  if (active === undefined) return { limits: [] };
  const cents = (credits: number) => Math.floor(credits * 100 / perUsd);
  const others = budgets.filter(({ id }) => id !== status.budget?.id)
    .map((budget) => shareOf({ balance: 0, budget })!);
  return {
    extra_usage: {
      is_enabled: true,
      monthly_limit: cents(active.ofCredits),
      used_credits: cents(active.usedCredits),
      utilization: percentOf(active),
      currency: "USD",
    },
    limits: [limitOf(active, true), ...others.map((share) => limitOf(share, false))],
  };
}

function limitOf(share: Share, isActive: boolean) {
  const { period, resetAtMs } = share;
  return {
    kind: "spend",
    group: period === undefined ? "balance" : PERIOD_NAMES[period],
    percent: percentOf(share),
    resets_at: resetAtMs === null ? null : new Date(resetAtMs).toISOString(),
    severity: SEVERITIES.get(markOf(usedFraction(share)) ?? 0) ?? "normal",
    is_active: isActive,
  };
}

/** Whole percent, as the headers have it in hundredths; 100 only where all is used. */
function percentOf(share: Share): number {
  return share.usedCredits >= share.ofCredits ? 100 : Math.round(100 * usedFraction(share));
}
