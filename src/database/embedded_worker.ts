/// <reference no-default-lib="true" />
/// <reference lib="deno.worker" />
/**
 * The thread that owns the embedded database file.
 *
 * The driver is synchronous: here it holds up nobody who is serving sockets. Statements are prepared
 * once and run by `run()` and `get()`, which are flat in memory; `all()` leaves about 50 bytes behind
 * per call in this driver, so it serves cold paths only.
 */

import DatabaseConstructor from "libsql";
import type { Answer, Ask, Connecting, Numbered } from "./embedded_protocol.ts";
import { LogSync } from "./log_sync.ts";
import type { Row, Statement, Value } from "./database.ts";
import { collectGarbageWhenIdle } from "../platform/mod.ts";

interface Prepared {
  readonly reader: boolean;
  run(args: readonly Value[]): unknown;
  get(args: readonly Value[]): Record<string, Value> | undefined;
  all(args: readonly Value[]): Record<string, Value>[];
}

interface Connection {
  prepare(sql: string): Prepared;
  exec(sql: string): void;
  close(): void;
}

/** How long another process that writes is waited for. */
const BUSY_MS = 5_000;
/** Pages in the write-ahead log before it is copied into the database: 32 MB. */
const CHECKPOINT_PAGES = 8_192;
const MAX_FRAME_OFFSET = 16;
/** The log's index is in the machine's own byte order. */
const LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
const MAX_PREPARED = 500;

/** Files up to this size are checked at the start: 16 ms for each 100,000 rows. */
const QUICK_CHECK_BYTES = 256 * 1_048_576;

let connection: Connection | undefined;
let log: LogSync | undefined;
let logIndex: Deno.FsFile | undefined;
let file: { readonly path: string; readonly identity: string } | undefined;
const prepared = new Map<string, Prepared>();

function open(path: string): void {
  // the driver's own types do not know that statements take their arguments as one array
  const opened = new DatabaseConstructor(path) as unknown as Connection;
  connection = opened;
  file = { path, identity: identityOf(path)! };
  try {
    setUp(opened, path);
  } catch (error) {
    close();
    file = { path, identity: "" }; // whatever has the name is not in use here
    throw error;
  }
}

/** Sets the connection up, and looks whether the file can be trusted. */
function setUp(opened: Connection, path: string): void {
  const pragma = (text: string) => Object.values(opened.prepare(`pragma ${text}`).all([])[0] ?? {});
  log = new LogSync(`${path}-wal`, () => {
    const [busy] = pragma("wal_checkpoint(truncate)");
    if (busy !== 0) throw new Error("another process reads or writes just now");
  });
  pragma(`busy_timeout = ${BUSY_MS}`);
  pragma("journal_mode = wal");
  opened.exec("pragma synchronous = normal"); // whoever waits for the disk waits for `log`
  opened.exec("pragma foreign_keys = on");
  // The bundled SQLite sorts in memory by default; an audit of millions of rows must not.
  opened.exec("pragma temp_store = file");
  if (Deno.statSync(path).size <= QUICK_CHECK_BYTES) {
    const [fault] = pragma("quick_check(1)");
    if (fault !== "ok") {
      throw Object.assign(
        new Error(`the file is damaged (quick_check: ${fault}); restore a backup`),
        { code: "SQLITE_CORRUPT" },
      );
    }
  }
  // Checkpoints are ours, with the write lock held: the bundled SQLite (3.45.1) can lose a commit
  // when one connection checkpoints while another writes (fixed upstream in 3.51.3).
  pragma("wal_autocheckpoint = 0");
  const wanted = { journal_mode: "wal", synchronous: 1, foreign_keys: 1 };
  for (const [name, value] of Object.entries(wanted)) {
    const [got] = pragma(name);
    if (got !== value) {
      throw new Error(`Cannot use ${path} as ${name} must be ${value}: the database says ${got}`);
    }
  }
}

function close(): void {
  prepared.clear();
  connection?.close();
  connection = undefined;
  log?.close();
  logIndex?.close(); // after the connection, whose locks on this file it drops
  logIndex = undefined;
}

/** What tells a file from another of the same name; undefined when there is none. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = Deno.statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

/**
 * Whoever deletes or replaces the file under a running gateway leaves it writing into one that nobody
 * will ever read again. Nothing is answered from there; what now has the name is opened instead.
 */
function holdOn(): void {
  const { path, identity } = file!;
  const present = identityOf(path);
  if (present === identity) return;
  if (present !== undefined) {
    close();
    open(path);
  }
  throw Object.assign(
    new Error(`the file ${path} was ${present === undefined ? "deleted" : "replaced"}`),
    { code: "SLUICE_REPLACED" },
  );
}

function statement(sql: string): Prepared {
  const known = prepared.get(sql);
  if (known !== undefined) return known;
  if (connection === undefined) {
    throw Object.assign(new Error("the database is not open"), { code: "SQLITE_CANTOPEN" });
  }
  if (prepared.size >= MAX_PREPARED) prepared.clear();
  const made = connection.prepare(sql);
  prepared.set(sql, made);
  return made;
}

function plain(row: Record<string, Value>): Row {
  const { _metadata: _, ...columns } = row; // the driver adds timing to what get() answers
  return columns;
}

function commit(statements: readonly Statement[], rows: boolean): Row[][] {
  holdOn();
  let committed = false;
  statement("begin immediate").run([]);
  try {
    const answers = statements.map(({ sql, args = [], first }): Row[] => {
      const ready = statement(sql);
      if (first) {
        const row = ready.get(args);
        return row === undefined ? [] : [plain(row)];
      }
      if (rows && ready.reader) return ready.all(args).map(plain);
      ready.run(args);
      return [];
    });
    statement("commit").run([]);
    committed = true;
    holdOn();
    return answers;
  } catch (error) {
    if (!committed) rollBack();
    throw error;
  }
}

function rollBack(): void {
  try {
    connection?.exec("rollback");
  } catch {
    // the failed statement has already ended the transaction
  }
}

/**
 * Pages in the write-ahead log, as its index says (https://sqlite.org/walformat.html, `mxFrame`).
 *
 * The log's size does not tell: the file is kept and written anew from its beginning, since a file
 * that does not grow is made durable in half the time.
 */
function pagesInLog(): number {
  try {
    logIndex ??= Deno.openSync(`${file!.path}-shm`);
    logIndex.seekSync(MAX_FRAME_OFFSET, Deno.SeekMode.Start);
    const bytes = new Uint8Array(4);
    if (logIndex.readSync(bytes) !== 4) return 0;
    return new DataView(bytes.buffer).getUint32(0, LITTLE_ENDIAN);
  } catch {
    return 0; // no log yet
  }
}

function checkpointWhenLong(): void {
  if (pagesInLog() < CHECKPOINT_PAGES) return;
  try {
    connection!.exec("pragma busy_timeout = 0"); // a reader that takes long holds up nobody
    connection!.prepare("pragma wal_checkpoint(restart)").get([]);
  } catch {
    // another process reads or writes just now; a later commit tries again
  } finally {
    connection!.exec(`pragma busy_timeout = ${BUSY_MS}`);
  }
}

/** Asks between two looks of an idle gateway, which looks for changed keys now and then. */
const IDLE_ASKS = 5;
let asks = 0;
let earlierAsks = 0;

collectGarbageWhenIdle(() => {
  const isIdle = asks - earlierAsks <= IDLE_ASKS;
  earlierAsks = asks;
  return isIdle;
});

let commits = 0;

function handle(ask: Ask): Row[][] {
  switch (ask.type) {
    case "open":
      open(ask.path);
      return [];
    case "one": {
      const row = statement(ask.sql).get(ask.args);
      return row === undefined ? [] : [[plain(row)]];
    }
    case "all":
      return [statement(ask.sql).all(ask.args).map(plain)];
    case "commit": {
      const rows = commit(ask.statements, ask.rows);
      if (ask.durable) log!.sync();
      if (++commits % 16 === 0) checkpointWhenLong();
      return rows;
    }
    case "close":
      close();
      return [];
  }
}

type Reply = (answer: Answer) => void;

self.onmessage = ({ data }: MessageEvent<Numbered | Connecting>) => {
  if ("port" in data) connect(data.port);
  else take(data, (answer) => self.postMessage(answer));
};

/** Questions of all threads are taken in the order in which they arrive; each commit is one of them, whole. */
function connect(port: MessagePort): void {
  const reply: Reply = (answer) => port.postMessage(answer);
  port.onmessage = ({ data }: MessageEvent<Numbered>) => take(data, reply);
}

function take({ id, ask }: Numbered, reply: Reply): void {
  asks++;
  try {
    reply({ id, ok: true, rows: handle(ask) });
  } catch (error) {
    reply(failure(id, error));
  }
}

function failure(id: number, error: unknown): Answer {
  const code = (error as { code?: unknown }).code;
  return {
    id,
    ok: false,
    code: typeof code === "string" ? code : "SQLITE_ERROR",
    message: error instanceof Error ? error.message : String(error),
  };
}
