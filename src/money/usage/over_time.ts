import * as z from "zod";
import type { Database, Reading } from "../../ground/database/mod.ts";

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

/** Longer ranges of days are read by the hours of the account. */
const MAX_DAYS = 400;

/**
 * Reports the usage of an account over time from roll-ups, for charts: those of days where whole days are asked for, which
 * are a twentieth of those of hours.
 *
 * @param database The database.
 * @param options Account, grouping, span, start and end in milliseconds since the epoch; hours count whole.
 * @returns Points in the order of time; there are none for times without requests.
 */
export async function usageOverTime(
  database: Database,
  { accountId, by, span, sinceMs, untilMs = Number.MAX_SAFE_INTEGER }: OverTimeOptions,
): Promise<UsagePoint[]> {
  const columns = `${by === undefined ? "''" : NAMES[by]} as name,
        sum(requests) as requests, sum(errors) as errors, sum(credits) as credits`;
  const days = span === "day" ? await wholeDays(database, sinceMs, untilMs) : undefined;
  const rows = days === undefined
    ? await database.all(
      `select hour_at_ms / ${SPAN_MS[span]} * ${SPAN_MS[span]} as "atMs", ${columns}
        from usage_hours where account_id = ? and hour_at_ms >= ? and hour_at_ms < ?
        group by 1, 2 order by 1, 2`,
      [accountId, sinceMs, untilMs],
    )
    : await database.all(
      `select day_at_ms as "atMs", ${columns}
        from json_each(?) as days cross join usage_days
          on day_at_ms = days.value and account_id = ?
        group by 1, 2 order by 1, 2`,
      [JSON.stringify(days), accountId],
    );
  return rows.map((row) => point.parse(row));
}

/** The days of a range, up to the last one that has usage; undefined if it begins or ends within one or has too many. */
async function wholeDays(
  database: Database,
  sinceMs: number,
  untilMs: number,
): Promise<readonly number[] | undefined> {
  if (sinceMs % SPAN_MS.day !== 0) return undefined;
  if (untilMs !== Number.MAX_SAFE_INTEGER && untilMs % SPAN_MS.day !== 0) return undefined;
  const last = await database.one("select max(day_at_ms) as at_ms from usage_days");
  if (last === undefined || last.at_ms === null) return [];
  const endMs = Math.min(untilMs, Number(last.at_ms) + SPAN_MS.day);
  const count = Math.max(0, (endMs - sinceMs) / SPAN_MS.day);
  if (count > MAX_DAYS) return undefined;
  return Array.from({ length: count }, (_, at) => sinceMs + at * SPAN_MS.day);
}

const sums = z.array(
  z.object({ account_id: z.string(), credits: z.int(), requests: z.int() }),
);

/** What accounts have used in a UTC day, by account ID. */
export function todayReading(
  accountIds: readonly string[],
  dayMs: number,
): Reading<ReadonlyMap<string, { readonly credits: number; readonly requests: number }>> {
  return {
    sql: `select json_group_array(json_object('account_id', account_id, 'credits', credits,
        'requests', requests)) from (
        select account_id, sum(credits) as credits, sum(requests) as requests
        from json_each(?) as accounts cross join usage_days
          on day_at_ms = ? and account_id = accounts.value
        group by 1
      )`,
    args: [JSON.stringify(accountIds), dayMs],
    read: (json) => new Map(sums.parse(json).map(({ account_id: id, ...used }) => [id, used])),
  };
}
