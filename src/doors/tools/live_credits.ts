import type { AccountStatus, BudgetPeriod } from "../../money/ledger/mod.ts";

/** What a caller may spend, and how much of it is spent. */
export interface Share {
  readonly usedCredits: number;
  readonly ofCredits: number;
  /** Of the budget; undefined for the balance. */
  readonly period?: BudgetPeriod;
  /** When it renews, in milliseconds since the epoch; null if it does not. */
  readonly resetAtMs: number | null;
}

/** Fractions from which on Claude Code warns, the highest first. */
const MARKS = [0.95, 0.75] as const;
/** While requests are admitted, a share is below 1. */
const MAX_ADMITTED = 0.99;
const PREFIX = "anthropic-ratelimit-unified-";
/** When to try again where nothing renews: somebody must add credits. */
const NO_RESET_RETRY_S = 3_600;

/** How Claude Code calls the periods of caps. */
export const PERIOD_NAMES: Readonly<Record<BudgetPeriod, string>> = {
  day: "daily",
  week: "weekly",
  month: "monthly",
  life: "lifetime",
};

/**
 * What a tool shows of a caller: the budget with the least left, else the balance.
 *
 * @param granted Credits of the account's lots that have something left, if the account pays for itself and they are known.
 */
export function shareOf(
  { balance, budget }: Pick<AccountStatus, "balance" | "budget">,
  granted?: number,
): Share | undefined {
  if (budget !== undefined) {
    const { credits, raise, spent, period, renewsAtMs } = budget;
    const ofCredits = credits + (raise?.credits ?? 0);
    return { usedCredits: spent, ofCredits, period, resetAtMs: renewsAtMs };
  }
  if (granted === undefined || granted === 0) return undefined;
  return { usedCredits: Math.max(0, granted - balance), ofCredits: granted, resetAtMs: null };
}

/** The part of a share that is used: two decimals, below 1. */
export function usedFraction({ usedCredits, ofCredits }: Share): number {
  const hundredths = ofCredits === 0 ? 100 : Math.floor(100 * usedCredits / ofCredits);
  return Math.min(hundredths / 100, MAX_ADMITTED);
}

/** The mark that a fraction has reached. */
export function markOf(fraction: number): number | undefined {
  return MARKS.find((mark) => fraction >= mark);
}

/**
 * Headers by which Claude Code shows what a signed-in caller has used, on a request that was admitted ("Usage-limit headers" of the
 * protocol that `claude gateway` 2.1.329 serves at `/protocol`).
 */
export function claudeCodeHeaders(share: Share | undefined): Record<string, string> {
  if (share === undefined) return {};
  const fraction = usedFraction(share);
  const mark = markOf(fraction);
  const status = mark === undefined ? "allowed" : "allowed_warning";
  return {
    [`${PREFIX}status`]: status,
    [`${PREFIX}representative-claim`]: "overage",
    [`${PREFIX}overage-status`]: status,
    [`${PREFIX}overage-utilization`]: String(fraction),
    ...(mark === undefined ? {} : { [`${PREFIX}overage-surpassed-threshold`]: String(mark) }),
    ...resetHeaders(share),
  };
}

/**
 * Headers of a request that a budget or the balance does not cover. Without a claim and a status of its own, Claude Code shows the
 * message of the error as it is.
 */
export function blockedHeaders(share: Share | undefined, nowMs: number): Record<string, string> {
  const resetAtMs = share?.resetAtMs ?? null;
  const waitS = resetAtMs === null ? NO_RESET_RETRY_S : Math.ceil((resetAtMs - nowMs) / 1_000);
  return {
    [`${PREFIX}status`]: "rejected",
    [`${PREFIX}overage-utilization`]: "1",
    [`${PREFIX}overage-surpassed-threshold`]: "1",
    [`${PREFIX}overage-disabled-reason`]: "org_spend_cap_reached",
    ...(share?.period === undefined
      ? {}
      : { [`${PREFIX}overage-period`]: PERIOD_NAMES[share.period] }),
    ...(share === undefined ? {} : resetHeaders(share)),
    "retry-after": String(Math.max(1, waitS)),
  };
}

function resetHeaders({ resetAtMs }: Share): Record<string, string> {
  if (resetAtMs === null) return {};
  const reset = String(Math.floor(resetAtMs / 1_000));
  return { [`${PREFIX}reset`]: reset, [`${PREFIX}overage-reset`]: reset };
}
