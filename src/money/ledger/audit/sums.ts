import { sumOf } from "../../../ground/sql/mod.ts";
import { ROLL_UPS, type RollUp, SUMS as NAMES } from "../roll_ups.ts";
import { savedMillionths } from "../rules/sql/roll_ups.ts";
import type { Check, Comparison } from "./check.ts";

/** How each sum of a roll-up is made from records. */
const OF_RECORDS: Readonly<Record<typeof NAMES[number], string>> = {
  requests: "count(*)",
  errors: "count(*) filter (where ending <> 'complete')",
  input_tokens: sumOf("input_tokens"),
  cached_tokens: sumOf("cached_tokens"),
  output_tokens: sumOf("output_tokens"),
  duration_ms: sumOf("duration_ms"),
  credits: sumOf("charged_credits"),
  saved_millionths: `${sumOf(savedMillionths(""))}`,
};

/** The sums, those of records, and those of other roll-ups, as columns. */
export const SUMS = NAMES.join(", ");
export const SUMMED = NAMES.map((name) => `${OF_RECORDS[name]} as ${name}`).join(", ");
export const ADDED = NAMES.map((name) => `${sumOf(name)} as ${name}`).join(", ");

/** Values of a key as an ID. */
export function idOf(key: readonly string[], left: string, right: string): string {
  return key.map((column) => `coalesce(${left}.${column}, ${right}.${column})`).join(" || ' ' || ");
}

/** A condition: two rows have the same key. */
export function sameKey(key: readonly string[], left: string, right: string): string {
  return key.map((column) => `${left}.${column} = ${right}.${column}`).join(" and ");
}

/** A check: a roll-up has the sums that it should have, and no other rows. */
export function isSumOf(
  table: RollUp,
  { noun, name, kind, given = "", sums, span, pairs, where = "true" }:
    & Pick<Check, "noun" | "name">
    & {
      /** What sums are called that differ: `KIND_requests`. */
      readonly kind: string;
      /** Tables that `sums` reads, each with a comma behind it. */
      readonly given?: string;
      /** A query of what it should have. */
      readonly sums: string;
      /** Of roll-ups of hours and days: whose those are. */
      readonly span?: number;
      readonly pairs?: Comparison["pairs"];
      /** Which rows are compared. Default: all. */
      readonly where?: string;
    },
): Check {
  const key = ROLL_UPS[table].filter((column) => column !== "span_ms");
  const ofSpan = span === undefined ? "" : ` and ${table}.span_ms = ${span}`;
  return {
    noun,
    name,
    before: `with ${given} summed as materialized (${sums})`,
    id: idOf(key, table, "summed"),
    pairs: {
      ...pairs,
      ...Object.fromEntries(
        NAMES.map((one) => [`${kind}_${one}`, [`${table}.${one}`, `summed.${one}`]] as const),
      ),
    },
    from: `summed full join ${table} on ${sameKey(key, "summed", table)}${ofSpan}
          where ${where}`,
  };
}
