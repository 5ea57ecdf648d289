import * as z from "zod";
import { columnsIn, insertOf, rowOf, shownText } from "../../ground/row.ts";
import type { ActionObject } from "../accounts/mod.ts";
import {
  type Condition,
  type Database,
  ifGiven,
  scanRows,
  type Statement,
} from "../../ground/database/mod.ts";
import { type Actor, type Door, DOORS, type Origin } from "./actor.ts";
import { greatest, isSameButForCase } from "../../ground/sql/mod.ts";

const json = z.string().nullable().transform((text): unknown =>
  text === null ? null : JSON.parse(text)
);

const entryRow = rowOf({
  id: z.string(),
  at_ms: z.int(),
  operation: z.string(),
  door: z.enum(DOORS),
  /** The client's address; `null` for a command. */
  address: z.string().nullable(),
  /** Email address at the time, or the name of a user of the system. */
  actor: shownText,
  /** Account; `null` for a user of the system. */
  actor_id: z.string().nullable(),
  key_id: z.string().nullable(),
  account_id: z.string().nullable(),
  team_id: z.string().nullable(),
  object_id: z.string().nullable(),
  /** The object as JSON, without secrets; `null` if there was none. */
  before: json,
  /** The same after the operation; `null` also if the gateway ended before it was read. */
  after: json,
  outcome: z.enum(["done", "failed"]),
  error: z.string().nullable(),
});

/** One operation in the log. */
export type LogEntry = z.output<typeof entryRow>;

/** What an operation is about. */
export interface LogObject extends ActionObject {
  /** ID of the object that is changed. */
  readonly objectId?: string | undefined;
}

/** A row of the log that is still to be written. */
export interface NewEntry {
  readonly id: string;
  readonly atMs: number;
  readonly operation: string;
  readonly actor: Actor;
  readonly origin: Origin;
  readonly about: LogObject;
  readonly before: unknown;
  readonly after?: unknown;
  /** Why it failed. */
  readonly error?: string | undefined;
}

const COLUMNS = columnsIn(entryRow);
const MAX_ERROR_CHARS = 500;

/**
 * Returns the statement that adds a row to the log, unless it has one of the same ID.
 *
 * @param entry The row.
 * @param onlyIf Nothing is added where it does not hold.
 */
export function logStatement(
  { id, atMs, operation, actor, origin, about, before, after = null, error }: NewEntry,
  onlyIf?: Condition,
): Statement {
  const { door, address } = origin;
  const { accountId, teamId, objectId } = about;
  return insertOf("insert into operation_log", {
    id,
    atMs,
    operation,
    door,
    address,
    accountId,
    teamId,
    objectId,
    actor: actor.name,
    actorId: actor.account?.id,
    keyId: actor.keyId,
    before: before === null ? null : JSON.stringify(before),
    after: after === null ? null : JSON.stringify(after),
    outcome: error === undefined ? "done" : "failed",
    error: error?.slice(0, MAX_ERROR_CHARS),
  }, { onlyIf, then: "on conflict (id) do nothing returning id" });
}

/** Returns a statement that fails if a condition does not hold, and with it its transaction. */
export function guardStatement({ sql, args }: Condition): Statement {
  return {
    sql: `insert into operation_log (id, at_ms, operation, door, actor, outcome)
      select null, 0, '', 'api', '', 'done' where not (${sql})`,
    args,
  };
}

/** Holds if the log has a row of this ID. */
export function isLogged(id: string): Condition {
  return { sql: "exists (select 1 from operation_log where id = ?)", args: [id] };
}

/** Returns the statement that notes once how the object looks after an operation. */
export function afterStatement(id: string, after: unknown): Statement {
  return {
    sql: `update operation_log set after = ?
      where id = ? and after is null and outcome = 'done'`,
    args: [JSON.stringify(after), id],
  };
}

/** Finds a row of the log. */
export async function logEntry(database: Database, id: string): Promise<LogEntry | undefined> {
  const row = await database.one(`select ${COLUMNS} from operation_log where id = ?`, [id]);
  return row && entryRow.parse(row);
}

/** Which rows of the log are listed. */
export interface LogFilter {
  /** Only from this time on. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** Only of this actor: email address, account ID, key ID, or name of a user of the system. */
  readonly by?: string | undefined;
  /** Only about this account, team or object, by its ID. */
  readonly about?: string | undefined;
  readonly operation?: string | undefined;
  readonly door?: Door | undefined;
  readonly outcome?: LogEntry["outcome"] | undefined;
  /** ID of the last row of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/**
 * Lists operations, newest first.
 *
 * @param filter Which ones, and how many at most.
 */
export async function logEntries(database: Database, filter: LogFilter): Promise<LogEntry[]> {
  const { sinceMs, untilMs, by, about, operation, door, outcome, after, limit } = filter;
  const rows = await scanRows(database, {
    from: "from operation_log",
    columns: COLUMNS,
    order: ["at_ms", "id"],
    within: [...ifGiven(sinceMs, "at_ms >= ?"), ...ifGiven(untilMs, "at_ms < ?")],
    filter: [
      ...ifGiven(by, `${isSameButForCase("actor", "?")} or actor_id = ? or key_id = ?`),
      ...ifGiven(about, "account_id = ? or team_id = ? or object_id = ?"),
      ...ifGiven(operation, "operation = ?"),
      ...ifGiven(door, "door = ?"),
      ...ifGiven(outcome, "outcome = ?"),
    ],
    after: ifGiven(after, "select at_ms, id from operation_log where id = ?")[0],
    limit,
  });
  return rows.map((row) => entryRow.parse(row));
}

/**
 * Deletes old rows of the log, up to a number of them.
 *
 * @returns Whether there may be more.
 */
export async function pruneLog(
  database: Database,
  { beforeMs, limit }: { readonly beforeMs: number; readonly limit: number },
): Promise<boolean> {
  const old = await database.one("select 1 as found from operation_log where at_ms < ? limit 1", [
    beforeMs,
  ]);
  if (old === undefined) return false;
  const [, gone] = await database.batch([
    {
      sql: `update operation_log_pruned set before_ms = ${
        greatest("before_ms", "cast(? as bigint)")
      }`,
      args: [beforeMs],
    },
    {
      sql: `delete from operation_log where id in (
          select id from operation_log where at_ms < ? order by at_ms, id limit ?
        ) returning 1 as gone`,
      args: [beforeMs, limit],
    },
  ]);
  return gone!.length === limit;
}
