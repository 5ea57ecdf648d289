import * as z from "zod";
import { rowOf } from "../../ground/row.ts";
import type { Database } from "../../ground/database/mod.ts";
import { iif, sumOf, textAt } from "../../ground/sql/mod.ts";

const cacheShare = rowOf({
  route: z.string(),
  input_tokens: z.int(),
  cached_tokens: z.int(),
  requests: z.int(),
});

/** How much of a model's input came from caches in an hour. */
export type CacheShare = z.output<typeof cacheShare>;

/**
 * Reads what came from caches in an hour of all accounts.
 *
 * @param hourAtMs Its beginning, in milliseconds since the epoch.
 * @returns A row for each model that was used.
 */
export async function cacheShares(database: Database, hourAtMs: number): Promise<CacheShare[]> {
  const rows = await database.all(
    "select route, input_tokens, cached_tokens, requests from usage_totals where hour_at_ms = ?",
    [hourAtMs],
  );
  return rows.map((row) => cacheShare.parse(row));
}

/** Records that are looked at: the newest, which the database has read within milliseconds. */
const NEWEST_RECORDS = 2_000;

/**
 * Reads what came from caches in the newest requests of an hour. Replies to keys that are not the gateway's count as requests only: what
 * their owners lose is not the operator's.
 *
 * @param sinceMs The hour's beginning, in milliseconds since the epoch.
 * @returns A row for each model that is among them.
 */
export async function newestCacheShares(
  database: Database,
  sinceMs: number,
): Promise<CacheShare[]> {
  const ofGateway = (column: string) =>
    `${sumOf(iif("own_key is null", column, "0"))} as ${column}`;
  const rows = await database.all(
    `select route, ${ofGateway("input_tokens")}, ${ofGateway("cached_tokens")}, count(*) as requests
    from (
      select route, input_tokens, cached_tokens, own_key, started_at_ms from usage_records
      order by request_id desc limit ${NEWEST_RECORDS}
    ) as found where started_at_ms >= ? group by route`,
    [sinceMs],
  );
  return rows.map((row) => cacheShare.parse(row));
}

const answeredModel = rowOf({
  upstream: z.string(),
  /** As it was sent. */
  model: z.string(),
  /** As the reply calls it. */
  answered: z.string(),
});

/** A model that replied for another. */
export type AnsweredModel = z.output<typeof answeredModel>;

/**
 * Reads which models have replied for which lately. Replies to keys that are not the gateway's are left out: what a name stands for there
 * is up to the key's owner.
 */
export async function answeredModels(database: Database): Promise<AnsweredModel[]> {
  const rows = await database.all(
    `select distinct upstream, upstream_model as model, ${
      textAt("details", "model")
    } as answered from (
      select upstream, upstream_model, details, own_key from usage_records
      order by request_id desc limit ${NEWEST_RECORDS}
    ) as found where ${
      textAt("details", "model")
    } is not null and upstream is not null and own_key is null
    order by 1, 2, 3 limit 1000`,
  );
  return rows.map((row) => answeredModel.parse(row));
}
