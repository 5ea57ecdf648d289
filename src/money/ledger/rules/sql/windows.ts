/** Rate windows, as SQL that several rules share. `new` is the row that a trigger decides on. */

import { addExcluded } from "./shared.ts";

/** The lengths of rate windows, in milliseconds. */
export const SPANS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;
export type Span = keyof typeof SPANS;

/** Whose requests a window counts. */
export const OWNERS = [
  { of: "key", table: "windows", prefix: "" },
  { of: "account", table: "account_windows", prefix: "account_" },
] as const;

/**
 * Statements that count requests in the minutes, hours and days of a key and of its account.
 *
 * @param from A table, view or subquery with the columns `key_id`, `account_id` and `admitted_at_ms`, a row for each
 * request; and a condition.
 */
export function countRequests(from: string): string[] {
  return OWNERS.map(({ of, table }) =>
    `insert into ${table} (${of}_id, span_ms, at_ms, used)
    select ${of}_id, span_ms, admitted_at_ms / span_ms * span_ms, count(*)
    from (${
      Object.values(SPANS).map((ms) => `select ${ms} as span_ms`).join(" union all ")
    }) as spans, ${from}
    group by 1, 2, 3
    on conflict (${of}_id, span_ms, at_ms) do update set ${addExcluded(table, ["used"])}`
  );
}
