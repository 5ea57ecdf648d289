import * as z from "zod";
import type { Database } from "../../ground/database/mod.ts";
import { columnsIn, rowOf, shownText } from "../../ground/row.ts";

const expiringKey = rowOf({
  id: z.string(),
  account_id: z.string(),
  name: shownText,
  hint: z.string(),
  created_at_ms: z.int(),
  expires_at_ms: z.int(),
});

/** A key that is going to expire. Times are in milliseconds since the epoch. */
export type ExpiringKey = z.output<typeof expiringKey>;

/** Keys of tools are left out: a tool that is in use refreshes its own. */
const FIND = `select ${columnsIn(expiringKey)} from keys
  where revoked_at_ms is null and (expires_at_ms, id) > (?, ?) and expires_at_ms <= ?
    and not exists (select 1 from tool_grants where key_id = keys.id)
  order by expires_at_ms, id limit ?`;

/**
 * Finds keys that expire within a time, those that expire first.
 *
 * @param range After which key of the last page, or after which time; up to which time; and how many at most.
 */
export async function expiringKeys(
  database: Database,
  { after, toMs, limit }: {
    readonly after: { readonly expiresAtMs: number; readonly id: string };
    readonly toMs: number;
    readonly limit: number;
  },
): Promise<ExpiringKey[]> {
  const rows = await database.all(FIND, [after.expiresAtMs, after.id, toMs, limit]);
  return rows.map((row) => expiringKey.parse(row));
}
