import * as z from "zod";
import type { Database } from "../database/mod.ts";

const point = z.object({
  atMs: z.int(),
  name: z.string(),
  requests: z.int(),
  errors: z.int(),
  credits: z.int(),
});

/** Requests and credits of one model or key within one hour or UTC day. */
export type UsagePoint = z.infer<typeof point>;

/** What usage over time covers. */
export interface OverTimeOptions {
  readonly accountId: string;
  /** What tells the points of one time apart; without it, there is one of each time, with an empty name. */
  readonly by?: "model" | "key" | undefined;
  /** Length of time of each point. */
  readonly span: "hour" | "day";
  readonly sinceMs: number;
  readonly untilMs?: number;
}

const SPAN_MS = { hour: 3_600_000, day: 86_400_000 } as const;
const NAMES = { model: "route", key: "key_id" } as const;

/**
 * Reports the usage of an account over time from hourly roll-ups, for charts.
 *
 * @param database The database.
 * @param options Account, grouping, span, start and end in milliseconds since the epoch; hours count whole.
 * @returns Points in the order of time; there are none for times without requests.
 */
export async function usageOverTime(
  database: Database,
  { accountId, by, span, sinceMs, untilMs = Number.MAX_SAFE_INTEGER }: OverTimeOptions,
): Promise<UsagePoint[]> {
  const spanMs = SPAN_MS[span];
  const rows = await database.all(
    `select hour_at_ms / ${spanMs} * ${spanMs} as "atMs", ${
      by === undefined ? "''" : NAMES[by]
    } as name,
        sum(requests) as requests, sum(errors) as errors, sum(credits) as credits
      from usage_hours where account_id = ? and hour_at_ms >= ? and hour_at_ms < ?
      group by 1, 2 order by 1, 2`,
    [accountId, sinceMs, untilMs],
  );
  return rows.map((row) => point.parse(row));
}
