import type { Database } from "../../ground/database/mod.ts";
import { iif, ROW, sumOf } from "../../ground/sql/mod.ts";

/** Limits of all accounts together. Of more, the oldest are deleted. */
export interface KeptItemsLimits {
  readonly rows: number;
  readonly bytes: number;
}

const LIMITS: KeptItemsLimits = { rows: 1_000_000, bytes: 1_073_741_824 };
/** Rows that are added up at a time, which takes a few milliseconds. */
const COUNTED_ROWS = 10_000;

const DELETE = `delete from kept_items where ${ROW} in (
    select ${ROW} from kept_items where expires_at_ms <= ? order by expires_at_ms limit ?
  ) returning 1 as gone`;
/**
 * Adds up the next newest rows, and says where to go on, and which of them exceed the rest of the limits. Rows of one
 * millisecond are counted together.
 */
const COUNT = `
  select count(*) as rows, ${sumOf("bytes")} as bytes, min(expires_at_ms) as before_ms,
    max(${iif("number > ?3 or total > ?4", "expires_at_ms", "null")}) as surplus_ms
  from (
    select expires_at_ms, bytes, row_number() over newer as number,
      ${sumOf("bytes")} over newer as total
    from kept_items where expires_at_ms < ?1 and expires_at_ms >= coalesce(
      (select expires_at_ms from kept_items where expires_at_ms < ?1
        order by expires_at_ms desc limit 1 offset ?2), 0)
    window newer as (order by expires_at_ms desc, bytes desc
      rows between unbounded preceding and current row)
  ) as found`;

/**
 * Deletes items that have expired, up to a number of them.
 *
 * @returns Whether there may be more.
 */
export async function pruneExpired(
  database: Database,
  { nowMs, limit }: { readonly nowMs: number; readonly limit: number },
): Promise<boolean> {
  const [gone] = await database.batch([{ sql: DELETE, args: [nowMs, limit] }]);
  return gone!.length === limit;
}

/**
 * Finds out which items are too many in all: these and older ones are to be deleted, as if they had expired.
 *
 * @returns The latest time of expiry among them; undefined if there are none.
 */
export async function findSurplus(
  database: Database,
  limits: KeptItemsLimits = LIMITS,
): Promise<number | undefined> {
  let { rows, bytes } = limits;
  let beforeMs = Number.MAX_SAFE_INTEGER;
  while (true) {
    const counted = (await database.one(COUNT, [beforeMs, COUNTED_ROWS - 1, rows, bytes]))!;
    if (counted.surplus_ms !== null) return Number(counted.surplus_ms);
    if (counted.before_ms === null) return undefined;
    rows -= Number(counted.rows);
    bytes -= Number(counted.bytes);
    beforeMs = Number(counted.before_ms);
  }
}
