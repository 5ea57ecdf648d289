import type { Budget } from "./budgets.ts";

/**
 * Describes a budget as JSON, the same in commands and in the API.
 *
 * @returns Its names in snake case, times as ISO 8601; `null` for the start and renewal of a lifetime.
 */
export function describeBudget(budget: Budget) {
  const { id, owner, ownerId, period, zone, credits, raise, spent, held, left, marks } = budget;
  return {
    id,
    owner,
    owner_id: ownerId,
    period,
    time_zone: zone,
    credits,
    raise: raise && { credits: raise.credits, until: iso(raise.untilMs) },
    spent,
    held,
    left,
    starts_at: budget.renewsAtMs === null ? null : iso(budget.startsAtMs),
    renews_at: budget.renewsAtMs === null ? null : iso(budget.renewsAtMs),
    marks: [...marks],
  };
}

function iso(ms: number): string {
  return new Date(Math.min(ms, 8.64e15)).toISOString();
}
