/** Roll-ups of usage, as SQL that several rules share. `new` is the row that a trigger decides on. */

import { DAY_MS } from "../../../../ground/time.ts";

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

export const ADD_SUMS = SUMS.map((sum) => `${sum} = ${sum} + excluded.${sum}`).join(",\n      ");

/** The sums of requests, in the order of {@linkcode SUMS}. */
export const SUMMED = `count(*), sum(ending <> 'complete'), sum(input_tokens), sum(cached_tokens),
      sum(output_tokens), sum(duration_ms), sum(credits), sum(${savedMillionths("")})`;

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

/**
 * Adds requests to the hours, and the days, of accounts, keys and routes, and to the hours of all accounts. Totals of their
 * days, if there are any, would no longer hold: they are added up again later.
 *
 * @param requests A subquery, {@linkcode rolledUp}.
 */
export function addToHours(requests: string): string {
  return `insert into usage_hours (account_id, hour_at_ms, key_id, route, ${SUMS.join(", ")})
    select account_id, started_at_ms / 3600000 * 3600000, key_id, route, ${SUMMED}
    from ${requests} where true group by 1, 2, 3, 4
    on conflict (account_id, hour_at_ms, key_id, route) do update set
      ${ADD_SUMS};
    insert into usage_days (day_at_ms, account_id, key_id, route, ${SUMS.join(", ")})
    select started_at_ms / ${DAY_MS} * ${DAY_MS}, account_id, key_id, route, ${SUMMED}
    from ${requests} where true group by 1, 2, 3, 4
    on conflict (day_at_ms, account_id, key_id, route) do update set
      ${ADD_SUMS};
    insert into usage_totals (hour_at_ms, route, ${SUMS.join(", ")})
    select started_at_ms / 3600000 * 3600000, route, ${SUMMED}
    from ${requests} where true group by 1, 2
    on conflict (hour_at_ms, route) do update set
      ${ADD_SUMS};
    delete from usage_day_totals where day_at_ms in (
      select started_at_ms / ${DAY_MS} * ${DAY_MS} from ${requests}
    );`;
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
  return `coalesce(min(${tokens} * max(${input} - ${cached}, 0), 1000000000000000), 0)`;
}
