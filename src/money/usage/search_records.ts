import * as z from "zod";
import { allOf, type Condition, type Database, ifGiven } from "../../ground/database/mod.ts";
import { readRecord, type RequestRecord } from "./records.ts";
import { DAY_MS, HOUR_MS, startOf } from "../../ground/time.ts";
import {
  integersOf,
  jsonArray,
  jsonArrayOfRows,
  jsonObject,
  jsonOf,
  membersOf,
  textsOf,
  THEN_JOIN,
} from "../../ground/sql/mod.ts";

/** Records that one statement looks at: what filters leave out costs as much as what they find. */
const SCAN_ROWS = 2_500;
/** Statements of this kind for one page. */
const MAX_SCANS = 3;
/** Days of roll-ups that are looked at to find where a search goes on. */
const MAX_DAYS = 400;
/** Records of all accounts that a search by the beginning of an ID looks at. */
const MAX_PREFIXED = 5_000;

/** Where a page of records ends. */
export interface RecordPosition {
  readonly startedAtMs: number;
  readonly requestId: string;
}

/** What is searched for among the records of an account. */
export interface RecordSearch {
  readonly accountId: string;
  readonly route?: string | undefined;
  readonly keyId?: string | undefined;
  /** An ending, or `failed` for all but `complete`. */
  readonly ending?: string | undefined;
  readonly tag?: { readonly name: string; readonly value: string } | undefined;
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** Only records before this position, where the last page ended. */
  readonly before?: RecordPosition | undefined;
  readonly limit: number;
}

/** A page of what was found. */
export interface SearchedRecords {
  /** Newest first. */
  readonly records: readonly RequestRecord[];
  /** Where the next page begins; undefined if there is nothing more. */
  readonly next: RecordPosition | undefined;
  /** Whether the page ends for the number of records looked at, so that there may be none in it although there are older ones. */
  readonly isPartial: boolean;
}

/**
 * Searches the records of an account, newest first. Looks at a bounded number of them, however rare what is searched for:
 * roll-ups say where models, keys and failures are, and a page may end before it is full.
 *
 * @param search Account, filters, range, position and max number of records.
 * @returns The records, and where to go on.
 */
export async function searchRecords(
  database: Database,
  search: RecordSearch,
): Promise<SearchedRecords> {
  const { sinceMs = 0, untilMs = Number.MAX_SAFE_INTEGER, limit } = search;
  const conditions = conditionsOf(search);
  const wanted = allOf(conditions);
  const ids: string[] = [];
  let from: RecordPosition = search.before !== undefined && search.before.startedAtMs < untilMs
    ? search.before
    : { startedAtMs: untilMs, requestId: "" };
  const page = async (more: Pick<SearchedRecords, "next" | "isPartial">) => ({
    records: await recordsOf(database, ids),
    ...more,
  });
  for (let scans = 0; scans < MAX_SCANS; scans++) {
    const jump = await latestAt(database, search, Math.max(sinceMs, 0), from.startedAtMs);
    if (jump === undefined) return await page({ next: undefined, isPartial: false });
    if (jump < from.startedAtMs) from = { startedAtMs: jump, requestId: "" };
    const isFiltered = conditions.length > 0;
    const { found, count, last } = await scan(database, search, {
      from,
      sinceMs,
      wanted,
      rows: isFiltered ? SCAN_ROWS : limit + 1,
      limit: limit + 1 - ids.length,
    });
    ids.push(...found.map(([, id]) => id));
    if (ids.length > limit) {
      ids.length = limit;
      const [startedAtMs, requestId] = found.at(-2) ?? [from.startedAtMs, from.requestId];
      return await page({ next: { startedAtMs, requestId }, isPartial: false });
    }
    if (last === null || count < (isFiltered ? SCAN_ROWS : limit + 1)) {
      return await page({ next: undefined, isPartial: false });
    }
    from = { startedAtMs: last[0], requestId: last[1] };
  }
  return await page({ next: from, isPartial: true });
}

/** Conditions on a record. */
function conditionsOf({ route, keyId, ending, tag }: RecordSearch): readonly Condition[] {
  return [
    ...ifGiven(route, "route = ?"),
    ...ifGiven(keyId, "key_id = ?"),
    ...ifGiven(ending, ending === "failed" ? "ending <> 'complete'" : "ending = ?"),
    ...(tag === undefined ? [] : [{
      sql: `exists (select 1 from ${membersOf("tags", "tag")} where tag.key = ? and tag.value = ?)`,
      args: [tag.name, tag.value],
    }]),
  ];
}

const position = z.tuple([z.int(), z.string()]);
const scanned = z.object({
  count: z.int(),
  last: position.nullable(),
  found: z.array(position),
});

/** Looks at a number of records of the account before a position. */
async function scan(
  database: Database,
  { accountId }: RecordSearch,
  { from, sinceMs, wanted, rows, limit }: {
    from: RecordPosition;
    sinceMs: number;
    wanted: Condition;
    rows: number;
    limit: number;
  },
): Promise<z.output<typeof scanned>> {
  const row = await database.one(
    `with looked_at as materialized (
        select started_at_ms, request_id, ${wanted.sql} as hit from usage_records
        where account_id = ? and (started_at_ms, request_id) < (?, ?) and started_at_ms >= ?
        order by started_at_ms desc, request_id desc limit ?
      )
      select ${
      jsonObject({
        count: "(select count(*) from looked_at)",
        last: jsonOf(`(
          select ${jsonArray("started_at_ms", "request_id")} from looked_at
          order by started_at_ms, request_id limit 1
        )`),
        found: jsonOf(`(
          select ${jsonArrayOfRows(jsonArray("started_at_ms", "request_id"))} from (
            select started_at_ms, request_id from looked_at where hit
            order by started_at_ms desc, request_id desc limit ?
          ) as found
        )`),
      })
    } as json`,
    [
      ...wanted.args,
      accountId,
      from.startedAtMs,
      from.requestId,
      sinceMs,
      rows,
      limit,
    ],
  );
  return scanned.parse(JSON.parse(String(row!.json)));
}

async function recordsOf(
  database: Database,
  ids: readonly string[],
): Promise<readonly RequestRecord[]> {
  if (ids.length === 0) return [];
  const rows = await database.all(
    `select * from usage_records where request_id in ${textsOf()}`,
    [JSON.stringify(ids)],
  );
  const records = new Map(rows.map((row) => [String(row.request_id), readRecord(row)]));
  return ids.flatMap((id) => records.get(id) ?? []); // one may have been pruned since
}

/**
 * Finds where the latest record may be, by the roll-ups of days and then of hours.
 *
 * @returns A time at or before `beforeMs`; undefined if there is nothing from `sinceMs` on.
 */
async function latestAt(
  database: Database,
  { accountId, route, keyId, ending }: RecordSearch,
  sinceMs: number,
  beforeMs: number,
): Promise<number | undefined> {
  const conditions = [
    ...ifGiven(route, "route = ?"),
    ...ifGiven(keyId, "key_id = ?"),
    ...ifGiven(ending, ending === "complete" ? "requests > errors" : "errors > 0"),
  ];
  if (conditions.length === 0) return beforeMs;
  const { sql: where, args: values } = allOf(conditions);
  const bounds = await database.one(
    "select (select min(day_at_ms) from usage_days) as first, (select max(day_at_ms) from usage_days) as last",
  );
  if (typeof bounds?.first !== "number") return undefined;
  const firstMs = Math.max(startOf(sinceMs, DAY_MS), Number(bounds.first));
  let dayMs: number | undefined = Math.min(startOf(beforeMs, DAY_MS), Number(bounds.last));
  while (true) {
    const count = Math.min(MAX_DAYS, (dayMs - firstMs) / DAY_MS + 1);
    if (count < 1) return undefined;
    const days = Array.from({ length: count }, (_, at) => dayMs! - at * DAY_MS);
    const row = await database.one(
      `select days.value as day_at_ms from ${integersOf("?", "days")}
          ${THEN_JOIN} usage_days on day_at_ms = days.value and account_id = ?
        where ${where} order by 1 desc limit 1`,
      [JSON.stringify(days), accountId, ...values],
    );
    // further back than roll-ups are looked at, the records themselves are
    if (row === undefined) return count < MAX_DAYS ? undefined : days.at(-1);
    dayMs = Number(row.day_at_ms);
    const hour = await database.one(
      `select hour_at_ms from usage_hours
        where account_id = ? and hour_at_ms >= ? and hour_at_ms <= ? and ${where}
        order by hour_at_ms desc limit 1`,
      [
        accountId,
        Math.max(dayMs, startOf(sinceMs, HOUR_MS)),
        Math.min(dayMs + DAY_MS - HOUR_MS, beforeMs),
        ...values,
      ],
    );
    if (hour !== undefined) return Math.min(beforeMs, Number(hour.hour_at_ms) + HOUR_MS);
    dayMs -= DAY_MS;
  }
}

/** An ID's beginning must have this many characters: its time to about four seconds. */
export const ID_PREFIX_CHARS = 13;

/**
 * Finds the records of an account whose ID begins with a text.
 *
 * @param options The account, the beginning of the ID ({@linkcode ID_PREFIX_CHARS} or more), and the max number of records.
 * @returns Records, newest first.
 */
export async function recordsByIdPrefix(
  database: Database,
  { accountId, prefix, limit }: {
    readonly accountId: string;
    readonly prefix: string;
    readonly limit: number;
  },
): Promise<readonly RequestRecord[]> {
  if (prefix.length < ID_PREFIX_CHARS) return [];
  const rows = await database.all(
    `select * from (
        select * from usage_records where request_id >= ?1 and request_id < ?1 || '~'
        order by request_id desc limit ${MAX_PREFIXED}
      ) as found where account_id = ?2 order by request_id desc limit ?3`,
    [prefix, accountId, limit],
  );
  return rows.map(readRecord);
}
