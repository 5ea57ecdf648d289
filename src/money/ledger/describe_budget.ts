import type { Budget } from "./budgets.ts";
import { localMinute } from "./periods.ts";

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

/** A budget as commands and the API show it. */
type DescribedBudget = Pick<
  ReturnType<typeof describeBudget>,
  "credits" | "raise" | "spent" | "period" | "renews_at" | "time_zone"
>;

/** Describes a budget for people: `120 of 500 a month, renews 2026-12-01 00:00 UTC`. */
export function budgetText(
  { credits, raise, spent, period, renews_at, time_zone: zone }: DescribedBudget,
): string {
  const all = credits + (raise?.credits ?? 0);
  const extra = raise === null
    ? ""
    : ` (${raise.credits} extra until ${localTime(Date.parse(raise.until), zone)})`;
  const used = `${spent.toLocaleString("en-US")} of ${all.toLocaleString("en-US")}`;
  if (renews_at === null) return `${used} in all${extra}`;
  return `${used} a ${period}${extra}, renews ${localTime(Date.parse(renews_at), zone)}`;
}

/**
 * Describes an instant in a time zone.
 *
 * @returns Such as `2026-12-01 00:00 (Europe/Berlin)`, or `2026-12-01 00:00 UTC`.
 */
export function localTime(atMs: number, zone: string): string {
  return `${localMinute(atMs, zone).replace("T", " ")} ${zone === "UTC" ? "UTC" : `(${zone})`}`;
}

function iso(ms: number): string {
  return new Date(Math.min(ms, 8.64e15)).toISOString();
}
