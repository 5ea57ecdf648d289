import type { WholeRule } from "../../ground/amounts/mod.ts";

/** Credits that are moved at once. Thousands of such amounts still add up exactly. */
export const CREDITS: WholeRule = { min: 1, max: 1e12, unit: "credits" };
/** Credits of a setting, which may be none. */
export const CREDITS_OR_NONE: WholeRule = { ...CREDITS, min: 0 };
/** Credits per period of a budget. */
export const BUDGET_CREDITS: WholeRule = { min: 0, max: 1e15, unit: "credits" };
/** A lifetime: up to a hundred years. */
export const DAYS: WholeRule = { min: 1, max: 36_500, unit: "days" };
/** A TCP port; 0 picks a free one. */
export const PORT: WholeRule = { min: 0, max: 65_535 };
/** Percentages of a budget at which to warn. */
export const MARK: WholeRule = { min: 1, max: 1_000, unit: "percent" };
/** Money in minor units, such as cents: what the payment service takes for one charge. */
export const MINOR_UNITS: WholeRule = { min: 0, max: 99_999_999, unit: "minor units" };
