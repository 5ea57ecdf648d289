import type { Database } from "../../ground/database/mod.ts";
import { displayed } from "../../ground/platform/mod.ts";

/** A key that is going to expire. Times are in milliseconds since the epoch. */
export interface ExpiringKey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly hint: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

const FIND = `select id, account_id, name, hint, created_at_ms, expires_at_ms from keys
  where revoked_at_ms is null and expires_at_ms is not null
    and (expires_at_ms, id) > (?, ?) and expires_at_ms <= ?
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
  return rows.map((row) => ({
    id: String(row.id),
    accountId: String(row.account_id),
    name: displayed(String(row.name)),
    hint: String(row.hint),
    createdAtMs: Number(row.created_at_ms),
    expiresAtMs: Number(row.expires_at_ms),
  }));
}
