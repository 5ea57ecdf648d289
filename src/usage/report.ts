import { z } from "zod";
import { type Database, type Reading, readTogether } from "../database/mod.ts";

/** What a report is grouped by. */
export const GROUPINGS = ["day", "hour", "model", "key"] as const;
export type Grouping = typeof GROUPINGS[number];

const reportRow = z.object({
  group: z.string(),
  requests: z.int(),
  errors: z.int(),
  input_tokens: z.int(),
  cached_tokens: z.int(),
  output_tokens: z.int(),
  credits: z.int(),
});

/** Requests, tokens and credits of one group. */
export type ReportRow = z.infer<typeof reportRow>;

const EXPRESSIONS: Readonly<Record<Grouping, string>> = {
  day: "strftime('%Y-%m-%d', hour_at_ms / 1000, 'unixepoch')",
  hour: "strftime('%Y-%m-%dT%H:00Z', hour_at_ms / 1000, 'unixepoch')",
  model: "route",
  key: "key_id",
};

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** When the last `days` days of UTC began, today included: what every view calls "30 days". */
export function daysSince(nowMs: number, days: number): number {
  return (Math.floor(nowMs / DAY_MS) - days + 1) * DAY_MS;
}

/** When the last `hours` hours of UTC began, this one included. */
export function hoursSince(nowMs: number, hours: number): number {
  return (Math.floor(nowMs / HOUR_MS) - hours + 1) * HOUR_MS;
}

/** Whose use, and how it is grouped. */
export interface ReportOptions {
  readonly accountId: string;
  readonly by: Grouping;
  readonly sinceMs?: number;
}

/** An account's use, from the hourly roll-ups; days and hours are those of UTC, oldest first. */
export async function usageReport(
  database: Database,
  options: ReportOptions,
): Promise<ReportRow[]> {
  return (await readTogether(database, { report: usageReading(options) })).report;
}

/** The same, to be read together with other things. */
export function usageReading({ accountId, by, sinceMs = 0 }: ReportOptions): Reading<ReportRow[]> {
  const columns = Object.keys(reportRow.shape).filter((name) => name !== "group");
  const sums = columns.map((name) => `sum(${name}) as ${name}`).join(", ");
  return {
    sql: `select json_group_array(json_object(
        'group', name, ${columns.map((name) => `'${name}', ${name}`).join(", ")}))
      from (
        select ${EXPRESSIONS[by]} as name, ${sums}
        from usage_hours where account_id = ? and hour_at_ms >= ? group by 1 order by 1
      )`,
    args: [accountId, sinceMs],
    read: (json) => z.array(reportRow).parse(json),
  };
}

/** When the latest recorded request began, in milliseconds; undefined when there is none. */
export async function latestRecordAt(database: Database): Promise<number | undefined> {
  const row = await database.one(
    "select started_at_ms from usage_records order by request_id desc limit 1",
  );
  return row === undefined ? undefined : Number(row.started_at_ms);
}
