import * as z from "zod";
import type { Reading } from "../../ground/database/mod.ts";
import { DAY_MS } from "../../ground/time.ts";

const dayCharges = z.object({
  dayAtMs: z.int(),
  model: z.string(),
  requests: z.int(),
  credits: z.int(),
});

/** What requests for one model that began in a UTC day were charged. */
export type DayCharges = z.infer<typeof dayCharges>;

/**
 * Reads what an account was charged, from roll-ups.
 *
 * @param range Bounds that are starts of UTC days, in milliseconds since the epoch.
 * @returns By day, oldest first, and model; those that were charged nothing are left out.
 */
export function chargesReading(
  { accountId, sinceMs, untilMs }: {
    readonly accountId: string;
    readonly sinceMs: number;
    readonly untilMs: number;
  },
): Reading<readonly DayCharges[]> {
  const days = Array.from(
    { length: Math.max(0, (untilMs - sinceMs) / DAY_MS) },
    (_, at) => sinceMs + at * DAY_MS,
  );
  return {
    sql: `select json_group_array(json_object('dayAtMs', day_at_ms, 'model', route,
        'requests', requests, 'credits', credits)) from (
        select day_at_ms, route, sum(requests) as requests, sum(usage_days.credits) as credits
        from json_each(?) as days cross join usage_days
          on day_at_ms = days.value and account_id = ?
        group by 1, 2 having sum(usage_days.credits) > 0 order by 1, 4 desc, 2
      )`,
    args: [JSON.stringify(days), accountId],
    read: (json) => z.array(dayCharges).parse(json),
  };
}
