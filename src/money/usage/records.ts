import * as z from "zod";
import { flag, jsonText, rowOf } from "../../ground/row.ts";
import { KEY_OWNERS } from "../ledger/mod.ts";
import { type Database, type Reading, type Row, scanRows } from "../../ground/database/mod.ts";
import { elementsOf, jsonArrayOfRows, jsonObject, jsonOf } from "../../ground/sql/mod.ts";

/** One request that was sent upstream. */
const attempt = z.object({
  upstream: z.string(),
  model: z.string(),
  key: z.string().optional(),
  outcome: z.string(),
  ms: z.number(),
}).transform(({ ms: durationMs, ...rest }) => ({ ...rest, durationMs }));

/** See `ChargeDetails` of the ledger. */
export const details = z.object({
  model: z.string().optional(),
  id: z.string().optional(),
  tier: z.string().optional(),
  speed: z.string().optional(),
  region: z.string().optional(),
  row: z.string().optional(),
  extras: z.record(z.string(), z.tuple([z.number(), z.number()])).optional(),
});

const RECORD = {
  request_id: z.string(),
  account_id: z.string(),
  key_id: z.string(),
  dialect: z.string(),
  route: z.string(),
  upstream: z.string().nullable(),
  upstream_model: z.string().nullable(),
  attempts: z.int(),
  status: z.int(),
  ending: z.string(),
  streamed: flag,
  usage_source: z.string().nullable(),
  input_tokens: z.int(),
  cached_tokens: z.int(),
  output_tokens: z.int(),
  reasoning_tokens: z.int(),
  started_at_ms: z.int(),
  /** When its charge was decided on; null in records from before schema 5. */
  settled_at_ms: z.int().nullable(),
  first_token_ms: z.int().nullable(),
  duration_ms: z.int(),
  price_credits: z.int(),
  /** The part of the price that is not of tokens. */
  extra_credits: z.int(),
  /** Whose key the reply came with; `null` for the gateway's. */
  own_key: z.enum(KEY_OWNERS).nullable(),
  charged_credits: z.int(),
  ignored: z.string(),
  input_price: z.int().nullable(),
  cached_price: z.int().nullable(),
  output_price: z.int().nullable(),
  minimum_credits: z.int().nullable(),
  /** Why it failed; `null` for a complete response, and in records from before schema 10. */
  reason: z.string().nullable(),
  /** The message that the client got, or would have got. */
  message: z.string().nullable(),
  attempt_list: jsonText(z.array(attempt)).nullable(),
  tags: jsonText(z.record(z.string(), z.string())).nullable(),
  details: jsonText(details).nullable(),
};

const recordRow = rowOf(RECORD).transform((row) => {
  const { inputPrice, cachedPrice, outputPrice, minimumCredits, ...record } = row;
  return {
    ...record,
    /** Prices of the charge; `undefined` if nothing was charged, and in records from before schema 5. */
    prices: inputPrice === null ? undefined : {
      input: inputPrice,
      cached: cachedPrice ?? 0,
      output: outputPrice ?? 0,
      minimum: minimumCredits ?? 0,
    },
    /** The attempts; `undefined` if each got a reply, and in records from before schema 10. */
    attemptList: row.attemptList ?? undefined,
    /** What the reply says of how it was made; empty for nothing, and in records from before schema 28. */
    details: row.details ?? {},
    /** Values by name; `undefined` for none. */
    tags: row.tags ?? undefined,
  };
});

/** Record of a request. Prices are in credits per million tokens, times in milliseconds. */
export type RequestRecord = z.output<typeof recordRow>;

/** Records of each account that are read at a time. */
const NEWEST = 50;

const newest = z.array(z.object({ account_id: z.string(), records: z.array(recordRow) }));

/** The newest records of accounts, by account ID, newest first. */
export function newestRecordsReading(
  accountIds: readonly string[],
): Reading<ReadonlyMap<string, readonly RequestRecord[]>> {
  return {
    sql: `select ${
      jsonArrayOfRows(jsonObject({
        account_id: "accounts.value",
        records: jsonOf(`(
        select ${jsonArrayOfRows(jsonObject(Object.keys(RECORD).join(", ")))} from (
          select * from usage_records where account_id = accounts.value
          order by started_at_ms desc, request_id desc limit ${NEWEST}
        ) as found
      )`),
      }))
    } from ${elementsOf("?", "accounts")}`,
    args: [JSON.stringify(accountIds)],
    read: (json) => new Map(newest.parse(json).map(({ account_id: id, records }) => [id, records])),
  };
}

/** Reads a row of request records. */
export function readRecord(row: Row): RequestRecord {
  return recordRow.parse(row);
}

/**
 * Reads the latest request records, of one account or of all.
 *
 * @param options The account (default: all), whether complete requests are left out, and the max number of records.
 * @returns Records, newest first.
 */
export async function latestRecords(
  database: Database,
  { accountId, failed, after, limit }: {
    readonly accountId?: string | undefined;
    readonly failed: boolean;
    /** ID of the last request of the page before. */
    readonly after?: string | undefined;
    readonly limit: number;
  },
): Promise<RequestRecord[]> {
  // IDs begin with their time; each order is that of an index
  const place = accountId === undefined
    ? "?"
    : `select ${BY_TIME.join(", ")} from usage_records where request_id = ?`;
  const rows = await scanRows(database, {
    ...(accountId === undefined
      ? { from: "from usage_records", columns: "*", order: ["request_id"] }
      : ofAccount(accountId)),
    filter: failed ? [{ sql: "ending <> 'complete'", args: [] }] : [],
    after: after === undefined ? undefined : { sql: place, args: [after] },
    limit,
  });
  return rows.map(readRecord);
}

const BY_TIME = ["started_at_ms", "request_id"] as const;

function ofAccount(accountId: string) {
  return {
    from: "from usage_records",
    columns: "*",
    order: BY_TIME,
    within: [{ sql: "account_id = ?", args: [accountId] }],
  };
}

/**
 * Reads a request record.
 *
 * @returns The record of any account, or `undefined` if it does not exist or was pruned.
 */
export async function requestRecord(
  database: Database,
  requestId: string,
): Promise<RequestRecord | undefined> {
  const row = await database.one("select * from usage_records where request_id = ?", [requestId]);
  return row === undefined ? undefined : readRecord(row);
}

/**
 * Reads the records of a range in pages, oldest first: of an account by its index, of all in the order of their IDs.
 *
 * @param options Range, half-open, account (default: all), and records per page.
 * @returns Pages with at least one record.
 */
export async function* recordsBetween(
  database: Database,
  { sinceMs, untilMs, accountId, limit }: {
    readonly sinceMs: number;
    readonly untilMs: number;
    readonly accountId?: string | undefined;
    readonly limit: number;
  },
): AsyncGenerator<RequestRecord[]> {
  // an ID has the time at which its request arrived, just before it began
  let last = {
    startedAtMs: sinceMs,
    requestId: accountId === undefined ? requestIdAt(sinceMs - ARRIVAL_MS) : "",
  };
  while (true) {
    const rows = accountId === undefined
      ? await database.all(
        "select * from usage_records where request_id > ? and request_id < ? order by request_id limit ?",
        [last.requestId, requestIdAt(untilMs + ARRIVAL_MS), limit],
      )
      : await database.all(
        `select * from usage_records
          where account_id = ? and (started_at_ms, request_id) > (?, ?) and started_at_ms < ?
          order by started_at_ms, request_id limit ?`,
        [accountId, last.startedAtMs, last.requestId, untilMs, limit],
      );
    const records = rows.map(readRecord);
    const within = records.filter(({ startedAtMs }) =>
      startedAtMs >= sinceMs && startedAtMs < untilMs
    );
    if (within.length > 0) yield within;
    if (records.length < limit) return;
    last = records.at(-1)!;
  }
}

/** A day: how long a request may take from its arrival to its admission, and clocks of gateways may differ. */
const ARRIVAL_MS = 86_400_000;

/** Returns a text that sorts before the ID of every request that arrived at a time or later: IDs begin with theirs. */
export function requestIdAt(ms: number): string {
  return `req_${Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0")}`;
}

/**
 * Reads the start of the latest recorded request.
 *
 * @returns Milliseconds since the epoch, or `undefined` if there are no records.
 */
export async function latestRecordAt(database: Database): Promise<number | undefined> {
  const row = await database.one(
    "select started_at_ms from usage_records order by request_id desc limit 1",
  );
  return row === undefined ? undefined : Number(row.started_at_ms);
}
