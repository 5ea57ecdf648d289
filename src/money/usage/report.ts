import * as z from "zod";
import { type Database, type Reading, readTogether } from "../../ground/database/mod.ts";
import { DAY_MS, HOUR_MS } from "../../ground/time.ts";

/** Possible groupings of a report. */
export const GROUPINGS = ["day", "hour", "model", "key"] as const;
/** Grouping of a report. */
export type Grouping = typeof GROUPINGS[number];

const reportRow = z.object({
  group: z.string(),
  requests: z.int(),
  errors: z.int(),
  input_tokens: z.int(),
  cached_tokens: z.int(),
  output_tokens: z.int(),
  /** What cached input saved by the prices of each charge, rounded down. */
  saved_credits: z.int(),
  credits: z.int(),
});

/** Requests, tokens and credits of one group: a UTC day or hour, a route ID, or a key ID. */
export type ReportRow = z.infer<typeof reportRow>;

/** The SQL that names a row's group. */
export const EXPRESSIONS: Readonly<Record<Grouping, string>> = {
  day: "strftime('%Y-%m-%d', hour_at_ms / 1000, 'unixepoch')",
  hour: "strftime('%Y-%m-%dT%H:00Z', hour_at_ms / 1000, 'unixepoch')",
  model: "route",
  key: "key_id",
};

/** Columns that are not simply added up. */
const SUMS: Readonly<Record<string, string>> = {
  saved_credits: "sum(saved_millionths) / 1000000",
};

/**
 * Computes the start of the last `days` UTC days including today, which every view means by "30 days".
 *
 * @param nowMs Current time in milliseconds since the epoch.
 * @param days Number of days.
 * @returns Milliseconds since the epoch.
 */
export function daysSince(nowMs: number, days: number): number {
  return (Math.floor(nowMs / DAY_MS) - days + 1) * DAY_MS;
}

/**
 * Computes the start of the last `hours` UTC hours including the current one.
 *
 * @param nowMs Current time in milliseconds since the epoch.
 * @param hours Number of hours.
 * @returns Milliseconds since the epoch.
 */
export function hoursSince(nowMs: number, hours: number): number {
  return (Math.floor(nowMs / HOUR_MS) - hours + 1) * HOUR_MS;
}

/** Account, grouping and start of a report. */
export interface ReportOptions {
  readonly accountId: string;
  /** Only the usage of this key. Default: of all keys that the account pays for. */
  readonly keyId?: string | undefined;
  readonly by: Grouping;
  readonly sinceMs?: number;
}

/**
 * Reports the usage of an account from hourly roll-ups.
 *
 * @param database The database.
 * @param options Account, grouping, and start of the report (default: everything).
 * @returns One row per group, ordered by group; days and hours are in UTC.
 */
export async function usageReport(
  database: Database,
  options: ReportOptions,
): Promise<ReportRow[]> {
  return (await readTogether(database, { report: usageReading(options) })).report;
}

/**
 * Returns {@linkcode usageReport} as a query that can be read together with others in one statement.
 */
export function usageReading(
  { accountId, keyId, by, sinceMs = 0 }: ReportOptions,
): Reading<ReportRow[]> {
  const columns = Object.keys(reportRow.shape).filter((name) => name !== "group");
  const sums = columns.map((name) => `${SUMS[name] ?? `sum(${name})`} as ${name}`).join(", ");
  return {
    sql: `select json_group_array(json_object(
        'group', name, ${columns.map((name) => `'${name}', ${name}`).join(", ")}))
      from (
        select ${EXPRESSIONS[by]} as name, ${sums}
        from usage_hours where account_id = ? and hour_at_ms >= ? and key_id = coalesce(?, key_id)
        group by 1 order by 1
      )`,
    args: [accountId, sinceMs, keyId ?? null],
    read: (json) => z.array(reportRow).parse(json),
  };
}

/**
 * Reads the start of the latest recorded request.
 *
 * @returns Milliseconds since the epoch, or `undefined` if there are no records.
 */
export async function latestRecordAt(database: Database): Promise<number | undefined> {
  const row = await database.one(
    "select started_at_ms from usage_records order by request_id desc limit 1",
  );
  return row === undefined ? undefined : Number(row.started_at_ms);
}

/**
 * Computes the share of input tokens that came from upstreams' prompt caches.
 *
 * @returns From 0 to 1, to four decimals; 0 if there was no input.
 */
export function cacheHitRate(
  { input_tokens: input, cached_tokens: cached }: Pick<
    ReportRow,
    "input_tokens" | "cached_tokens"
  >,
): number {
  return input === 0 ? 0 : Math.round(cached / input * 10_000) / 10_000;
}
