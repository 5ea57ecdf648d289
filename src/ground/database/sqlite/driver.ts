import { pathToFileURL } from "node:url";
import Driver from "libsql";
import { render } from "../../sql/mod.ts";
import type { Row, Value } from "../database.ts";

/** A statement of the driver, which takes its arguments as one array. */
export interface Prepared {
  readonly reader: boolean;
  run(args: readonly Value[]): unknown;
  get(args: readonly Value[]): Record<string, Value> | undefined;
  all(args: readonly Value[]): Record<string, Value>[];
}

/** A connection of the driver, which gets statements as SQLite spells them. It is closed once its statements are collected. */
export interface Connection {
  readonly inTransaction: boolean;
  prepare(sql: string): Prepared;
  exec(sql: string): void;
  close(): void;
}

/**
 * Opens a file by SQLite's own access to files. The driver's default, which can encrypt, reports no failed read: SQLite would take what
 * happens to be in memory for the page, and write it back (docs/decisions/014-own-file-access.md).
 */
export function connect(
  path: string,
  parameters: Readonly<Record<string, string>> = {},
): Connection {
  const url = pathToFileURL(path);
  const vfs = Deno.build.os === "windows" ? "win32" : "unix";
  url.search = new URLSearchParams({ vfs, ...parameters }).toString();
  return open(url.href);
}

/** Opens an empty database in memory. */
export function connectInMemory(): Connection {
  return open(":memory:");
}

function open(place: string): Connection {
  // the driver's own types know neither that statements take their arguments as one array nor that rows are objects
  const driver = new Driver(place) as unknown as Connection;
  return {
    get inTransaction() {
      return driver.inTransaction;
    },
    prepare: (sql) => driver.prepare(render(sql, "sqlite")),
    exec: (sql) => driver.exec(render(sql, "sqlite")),
    close: () => driver.close(),
  };
}

/**
 * Checks that the log's index is open for writing. SQLite opens it for reading if it cannot otherwise, once for all connections of the
 * process, until the last of them is closed (https://sqlite.org/c3ref/c_open_readonly.html, `readonly_shm`): a connection that only
 * reads and kept it would leave none that writes.
 *
 * @throws {Error} `SQLITE_READONLY`.
 */
export function checkIndexIsWritable(connection: Connection): void {
  try {
    connection.exec("begin immediate");
  } catch (error) {
    if (isBusy(error)) return; // it is, and somebody writes
    throw error;
  }
  connection.exec("commit");
}

/** Whether another connection was in the way. */
export function isBusy(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === "string" && code.startsWith("SQLITE_BUSY");
}

/** Reads the ID of a database; `undefined` if it has none. */
export function idOf(connection: Connection): string | undefined {
  const [found] = connection
    .prepare("select count(*) as n from sqlite_master where name = 'database_identity'")
    .all([]);
  if (found?.n !== 1) return undefined;
  const [row] = connection.prepare("select id from database_identity").all([]);
  return row === undefined ? undefined : String(row.id);
}

/** A row without what the driver adds to it: timing, to what `get()` returns. */
export function plain(row: Record<string, Value>): Row {
  const { _metadata: _, ...columns } = row;
  return columns;
}
