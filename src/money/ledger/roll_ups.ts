import { either } from "../../ground/sql/mod.ts";
import { DAY_MS } from "../../ground/time.ts";

/** Tells locks of days from others. */
const LOCKS_OF_DAYS = 5_432_002;

/**
 * An expression that waits until the totals of a day may be added up, or requests of it recorded, which several may do at once, and keeps
 * the other from being done until the transaction ends. Statements after it find what was committed before. It does nothing where
 * one transaction writes at a time.
 *
 * @param atMs An expression for a time of the day.
 */
export function lockDay(what: "record" | "add up", atMs: string): string {
  const lock = what === "record" ? "pg_advisory_xact_lock_shared" : "pg_advisory_xact_lock";
  return either({
    sqlite: atMs,
    postgres: `${lock}(${LOCKS_OF_DAYS}, (${atMs} / ${DAY_MS})::integer)`,
  });
}

/** The sums of every roll-up. */
export const SUMS = [
  "requests",
  "errors",
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "duration_ms",
  "credits",
  "saved_millionths",
] as const;

const BY_KEY = ["account_id", "key_id", "route"] as const;

/**
 * Roll-ups of requests, and the columns of their primary keys. Rules and the audit share these names, and no expression of a
 * sum: a fault in one of them would be in both.
 */
export const ROLL_UPS = {
  usage_hours: ["account_id", "hour_at_ms", "key_id", "route"],
  /** What pruned records added to hours. */
  pruned_hours: ["account_id", "hour_at_ms", "key_id", "route"],
  usage_days: ["day_at_ms", ...BY_KEY],
  /** Hours of all accounts. */
  usage_totals: ["hour_at_ms", "route"],
  /** Days of all accounts. */
  usage_day_totals: ["day_at_ms", "noun", "value"],
  /** Hours and days of tags. */
  usage_tags: ["name", "span_ms", "at_ms", ...BY_KEY, "value"],
} as const;
export type RollUp = keyof typeof ROLL_UPS;
