import type { Database } from "../../ground/database/mod.ts";
import { greatest, sumOf } from "../../ground/sql/mod.ts";

/** Windows from before this are no longer complete; the audit looks at those from then on. */
const MARK = `update pruned_windows set before_ms = ${
  greatest("before_ms", "?")
} where before_ms < ?`;
/** By the longest first: while a day is there, so are its hours and minutes. */
const PRUNE = [
  `delete from windows where (key_id, span_ms, at_ms) in (
    select key_id, span_ms, at_ms from windows where at_ms < ? order by span_ms desc limit ?
  ) returning 1 as gone`,
  `delete from account_windows where (account_id, span_ms, at_ms) in (
    select account_id, span_ms, at_ms from account_windows where at_ms < ?
    order by span_ms desc limit ?
  ) returning 1 as gone`,
];

/**
 * Deletes request windows that began before a time, up to `limit` of keys and as many of accounts.
 *
 * @returns whether there may be more of them.
 */
export async function pruneWindows(
  database: Database,
  { beforeMs, limit }: { readonly beforeMs: number; readonly limit: number },
): Promise<boolean> {
  const [, ...gone] = await database.batch([
    { sql: MARK, args: [beforeMs, beforeMs] },
    ...PRUNE.map((sql) => ({ sql, args: [beforeMs, limit] })),
  ]);
  return gone.some((rows) => rows.length === limit);
}

/** Requests of all accounts that were ever settled. */
export const SETTLED_REQUESTS = `select coalesce(${sumOf("requests")}, 0) from balances`;
