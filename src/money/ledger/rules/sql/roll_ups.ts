/** Roll-ups of usage, as SQL that several rules share. `new` is the row that a trigger decides on. */

import { either, greatest, least, sumOf } from "../../../../ground/database/mod.ts";
import { DAY_MS } from "../../../../ground/time.ts";
import { addExcluded } from "./shared.ts";
import { ROLL_UPS, type RollUp, SUMS } from "../../roll_ups.ts";

/** The sums of requests, in the order of {@linkcode SUMS}. */
const SUMMED = [
  "count(*)",
  "count(*) filter (where ending <> 'complete')",
  ...[
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "duration_ms",
    "credits",
    savedMillionths(""),
  ].map(sumOf),
].join(", ");

/** Columns of a request that roll-ups are made of. */
const ROLLED_UP = [
  "account_id",
  "key_id",
  "route",
  "started_at_ms",
  "ending",
  "reason",
  "tags",
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "duration_ms",
  "input_price",
  "cached_price",
];

/**
 * Requests that are added to roll-ups, as a subquery.
 *
 * @param from A table, or undefined for the row of a trigger.
 * @param credits The column that says what a request was charged.
 */
export function rolledUp(credits: string, from?: string): string {
  const of = from === undefined ? "new." : "";
  return `(select ${ROLLED_UP.map((column) => `${of}${column} as ${column}`).join(", ")},
      ${of}${credits} as credits${from === undefined ? "" : ` from ${from}`})`;
}

/** The values of a roll-up's key, of those that are not columns of a request. */
export const VALUES: Readonly<Record<string, string>> = {
  hour_at_ms: "started_at_ms / 3600000 * 3600000",
  day_at_ms: `started_at_ms / ${DAY_MS} * ${DAY_MS}`,
  span_ms: "ms",
  at_ms: "started_at_ms / ms * ms",
  value: "kept_value",
};

/**
 * A statement that adds requests to a roll-up.
 *
 * @param requests What follows `from`, with a condition.
 */
export function addTo(table: RollUp, requests: string): string {
  const key = ROLL_UPS[table];
  const places = key.map((_, at) => at + 1).join(", ");
  // where others write at the same moment, all go through rows in one order
  return `insert into ${table} (${[...key, ...SUMS].join(", ")})
    select ${key.map((column) => VALUES[column] ?? column).join(", ")}, ${SUMMED}
    from ${requests} group by ${places}${either({ sqlite: "", postgres: ` order by ${places}` })}
    on conflict (${key.join(", ")}) do update set
      ${addExcluded(table, SUMS)}`;
}

/**
 * Statements that add requests to the hours, and the days, of accounts, keys and routes, and to the hours of all accounts. Totals of their
 * days, if there are any, would no longer hold: they are added up again later.
 *
 * @param requests A subquery, {@linkcode rolledUp}.
 */
export function addToHours(requests: string): string[] {
  return [
    ...(["usage_hours", "usage_days", "usage_totals"] as const)
      .map((table) => addTo(table, `${requests} as given where true`)),
    `delete from usage_day_totals where day_at_ms in (
      select ${VALUES.day_at_ms} from ${requests} as given
    )`,
  ];
}

/**
 * What a record's cached input saved, in millionths of credits: its tokens times the difference of the two input prices
 * of its charge. Bounded, so that no price that an operator may set makes a settlement fail.
 *
 * @param record Qualifies the record's columns: `new.`, `old.` or nothing.
 */
export function savedMillionths(record: string): string {
  const [tokens, input, cached] = ["cached_tokens", "input_price", "cached_price"]
    .map((column) => record + column);
  const saved = least(`${tokens} * ${greatest(`${input} - ${cached}`, "0")}`, "1000000000000000");
  return `coalesce(${saved}, 0)`;
}
