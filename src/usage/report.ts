import { z } from "zod";
import type { Database } from "../database/mod.ts";

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

/** An account's use, from the hourly roll-ups; days and hours are those of UTC, oldest first. */
export async function usageReport(
  database: Database,
  { accountId, by, sinceMs = 0 }: { accountId: string; by: Grouping; sinceMs?: number },
): Promise<ReportRow[]> {
  const rows = await database.all(
    `select ${EXPRESSIONS[by]} as "group", sum(requests) as requests, sum(errors) as errors,
            sum(input_tokens) as input_tokens, sum(cached_tokens) as cached_tokens,
            sum(output_tokens) as output_tokens, sum(credits) as credits
     from usage_hours where account_id = ? and hour_at_ms >= ? group by 1 order by 1`,
    [accountId, sinceMs],
  );
  return rows.map((row) => reportRow.parse(row));
}

/** When the latest recorded request began, in milliseconds; undefined when there is none. */
export async function latestRecordAt(database: Database): Promise<number | undefined> {
  const row = await database.one(
    "select started_at_ms from usage_records order by request_id desc limit 1",
  );
  return row === undefined ? undefined : Number(row.started_at_ms);
}
