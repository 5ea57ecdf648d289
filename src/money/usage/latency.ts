import type { Database } from "../../ground/database/mod.ts";
import { requestIdAt } from "./records.ts";

/** Durations of requests. */
export interface RequestLatency {
  /** Complete requests that it is of. */
  readonly requests: number;
  /** When the first of them began; `undefined` without any. */
  readonly sinceMs: number | undefined;
  /** Half of them, and 95 of 100, took up to this long; `undefined` without any. */
  readonly p50Ms: number | undefined;
  readonly p95Ms: number | undefined;
  /** 95 of 100 streams had their first output after up to this long. */
  readonly firstTokenP95Ms: number | undefined;
}

/**
 * Computes percentiles of the latest requests of a range, by a bounded read of records in the order of their IDs.
 *
 * @param range Times between which the requests arrived, and the max number of records that are read.
 * @returns Percentiles of those that were complete.
 */
export async function requestLatency(
  database: Database,
  { sinceMs, untilMs, limit }: {
    readonly sinceMs: number;
    readonly untilMs: number;
    readonly limit: number;
  },
): Promise<RequestLatency> {
  const rows = await database.all(
    `select started_at_ms, duration_ms, first_token_ms, ending from usage_records
      where request_id >= ? and request_id < ? order by request_id desc limit ?`,
    [requestIdAt(sinceMs), requestIdAt(untilMs), limit],
  );
  const complete = rows.filter(({ ending }) => ending === "complete");
  const durations = sorted(complete.map((row) => row.duration_ms));
  const firsts = sorted(
    complete.filter((row) => row.first_token_ms !== null).map((row) => row.first_token_ms),
  );
  return {
    requests: complete.length,
    sinceMs: complete.length === 0 ? undefined : Number(complete.at(-1)!.started_at_ms),
    p50Ms: percentile(durations, 0.5),
    p95Ms: percentile(durations, 0.95),
    firstTokenP95Ms: percentile(firsts, 0.95),
  };
}

function sorted(values: readonly unknown[]): number[] {
  return values.map(Number).toSorted((a, b) => a - b);
}

function percentile(values: readonly number[], share: number): number | undefined {
  return values[Math.max(0, Math.ceil(share * values.length) - 1)];
}
