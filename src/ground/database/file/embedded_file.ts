/// <reference no-default-lib="true" />
/// <reference lib="deno.worker" />
import { DatabaseError, type Row, type Statement, type Value } from "../database.ts";
import {
  checkIndexIsWritable,
  connect,
  type Connection,
  idOf,
  isBusy,
  plain,
  type Prepared,
} from "../sqlite/driver.ts";
import { COPY } from "./embedded_protocol.ts";
import { LogFile } from "./log_file.ts";
import { LongReads } from "./long_reads.ts";

/** How an embedded database is used. */
export interface FileOptions {
  readonly path: string;
  /** Whether nothing is written through it. */
  readonly readOnly: boolean;
  /** Files that must stay what they are for as long as the database is written: the lock of its directory. */
  readonly beside: readonly string[];
}

/** How long another process that writes is waited for. */
const BUSY_MS = 5_000;
/** Between two tries of what does not wait by itself. */
const AGAIN_MS = 10;
/** Pages in the write-ahead log before it is copied into the database: 32 MB. */
const CHECKPOINT_PAGES = 8_192;
/** Bytes that the file of the log keeps once it is begun again: more than it has but beside long reads. */
const KEPT_LOG_BYTES = 128 * 1_048_576;
const MAX_PREPARED = 500;
/** Files up to this size are checked when they are opened: 16 ms for each 100,000 rows. */
const QUICK_CHECK_BYTES = 256 * 1_048_576;

/**
 * Failures of a statement or of its moment. After all others, I/O errors among them, a connection is no longer trusted: what it has in
 * memory may differ from the file, a statement that failed half-way may go on from there, and SQLite falls back to reading only.
 */
const TRUSTED =
  /^(?:SQLITE_(?:ERROR|CONSTRAINT|BUSY|LOCKED|FULL|TOOBIG|MISMATCH|RANGE|INTERRUPT|ABORT|AUTH|SCHEMA)(?:_|$)|SLUICE_)/;

/** Repeats what SQLite refuses at once, whatever time-out it has: the switch to a log, while others open the same new file. */
function whileBusy(work: () => void): void {
  const startedTick = performance.now();
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() - startedTick >= BUSY_MS) throw error;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, AGAIN_MS);
  }
}

/**
 * An embedded libSQL file and the connection to it, which heals: after a failure of the disk or the file it is closed, and is opened
 * again, checked, before anything is read or written. It never follows its path to another file.
 */
export class EmbeddedFile {
  readonly #options: FileOptions;
  readonly #prepared = new Map<string, Prepared>();
  /** What its path and those beside it led to when it was opened. */
  readonly #places: Map<string, string>;
  /** What its path leads to and was found to be another database. */
  #stranger: string | undefined;
  /** The database's own ID; `undefined` before it has one. */
  #id: string | undefined;
  #connection: Connection | undefined;
  #log: LogFile | undefined;
  #longReads: LongReads | undefined;
  #commits = 0;

  /**
   * Opens the file at a path, creating it if it does not exist.
   *
   * @throws {DatabaseError} If it cannot be opened, or is damaged.
   */
  constructor(options: FileOptions) {
    this.#options = options;
    const isNew = placeOf(options.path) === undefined;
    if (isNew) this.#connection = connect(options.path);
    this.#places = new Map(
      [options.path, ...options.beside].flatMap((path) => {
        const place = placeOf(path);
        return place === undefined ? [] : [[path, place]];
      }),
    );
    this.#open();
  }

  /** Whether it can be used: if not, {@linkcode reopen} has to succeed first. */
  get isOpen(): boolean {
    return this.#connection !== undefined;
  }

  /** Reads the first row; flat in memory. */
  one(sql: string, args: readonly Value[]): Row | undefined {
    return this.#read(() => {
      const row = this.#statement(sql).get(args);
      return row === undefined ? undefined : plain(row);
    });
  }

  /** Reads all rows. */
  all(sql: string, args: readonly Value[]): Row[] {
    const read = () => this.#statement(sql).all(args).map(plain);
    return this.#read(() => sql === COPY ? this.#copy(read) : read());
  }

  /**
   * Commits statements in one transaction.
   *
   * @param rows Whether all rows of all statements are wanted; not asking keeps memory flat.
   * @param durable Whether to wait until the commit survives the loss of power.
   */
  commit(
    statements: readonly Statement[],
    { rows, durable }: { readonly rows: boolean; readonly durable: boolean },
  ): Row[][] {
    return this.#guarded(() => {
      const results = this.#commit(statements, rows);
      if (durable) this.#log!.sync();
      if (++this.#commits % 16 === 0) this.#checkpointWhenLong();
      return results;
    });
  }

  /** Waits until all commits survive the loss of power. */
  sync(): void {
    this.#guarded(() => this.#log!.sync());
  }

  /**
   * Reads the database's ID, by which it is recognized when it is opened again.
   *
   * @returns It; `undefined` if there is none yet.
   */
  identify(): string | undefined {
    return this.#id = idOf(this.#connection!);
  }

  /**
   * Opens the file again after a failure, and checks it.
   *
   * @throws {DatabaseError} If it still cannot be used.
   */
  reopen(): void {
    this.#checkPlaces();
    if (this.#connection !== undefined) return;
    this.#open();
    if (this.#options.readOnly) return;
    this.#guarded(() => { // SQLite may have fallen back to reading only
      this.#statement("begin immediate").run([]);
      this.#statement("commit").run([]);
    });
  }

  /** Closes the connection. */
  close(): void {
    this.#disconnect();
    this.#log?.close();
  }

  #open(): void {
    const { path } = this.#options;
    const connection = this.#connection ??= connect(path);
    try {
      this.#setUp(connection);
      const moved = this.#moved();
      if (moved !== undefined) throw replaced(moved); // what was opened is not what was looked at
      const id = idOf(connection);
      if (this.#id !== undefined && id !== this.#id) throw replaced({ path, present: "another" });
      this.#id = id;
    } catch (error) {
      this.#disconnect();
      throw error;
    }
  }

  /** Sets the connection up, and checks whether the file can be trusted. */
  #setUp(connection: Connection): void {
    const { path, readOnly } = this.#options;
    const pragma = (text: string) =>
      Object.values(connection.prepare(`pragma ${text}`).all([])[0] ?? {});
    pragma(`busy_timeout = ${BUSY_MS}`);
    if (!readOnly) whileBusy(() => pragma("journal_mode = wal"));
    checkIndexIsWritable(connection);
    connection.exec("pragma synchronous = normal"); // durable commits wait for `log`
    connection.exec("pragma foreign_keys = on");
    // The bundled SQLite sorts in memory by default; an audit of millions of rows must not.
    connection.exec("pragma temp_store = file");
    // Checkpoints are ours, with the write lock held: the bundled SQLite (3.45.1) can lose a commit
    // when one connection checkpoints while another writes (fixed upstream in 3.51.3).
    pragma("wal_autocheckpoint = 0");
    pragma(`journal_size_limit = ${KEPT_LOG_BYTES}`);
    if (readOnly) {
      connection.exec("pragma query_only = on");
      this.#log?.close();
      this.#log = new LogFile(`${path}-wal`, () => {}); // only to look at
      this.#longReads = new LongReads(this.#log);
      return;
    }
    if (Deno.statSync(path).size <= QUICK_CHECK_BYTES) {
      const [fault] = pragma("quick_check(1)");
      if (fault !== "ok") {
        throw new DatabaseError(
          "SQLITE_CORRUPT",
          `the file is damaged (quick_check: ${fault}); restore a backup`,
        );
      }
    }
    const wanted = { journal_mode: "wal", synchronous: 1, foreign_keys: 1 };
    for (const [name, value] of Object.entries(wanted)) {
      const [got] = pragma(name);
      if (got !== value) {
        throw new Error(`Cannot use ${path} as ${name} must be ${value}: the database says ${got}`);
      }
    }
    const isAgain = this.#log !== undefined;
    this.#log?.close();
    this.#log = new LogFile(`${path}-wal`, () => {
      const [busy] = pragma("wal_checkpoint(truncate)");
      if (busy !== 0) throw new Error("another process reads or writes just now");
    }, { isDoubtful: isAgain });
  }

  #read<T>(work: () => T): T {
    const read = () => this.#guarded(work);
    return this.#longReads === undefined ? read() : this.#longReads.read(read);
  }

  /** Does what writes into another file, which SQLite refuses where nothing may be written. */
  #copy<T>(work: () => T): T {
    if (!this.#options.readOnly) return work();
    const connection = this.#connection!;
    connection.exec("pragma query_only = off");
    try {
      return work();
    } finally {
      connection.exec("pragma query_only = on");
    }
  }

  /** Runs something that uses the connection, and gives the connection up if that fails in a way that makes it doubtful. */
  #guarded<T>(work: () => T): T {
    this.#checkPlaces();
    if (this.#connection === undefined) {
      throw new DatabaseError("SLUICE_REOPENING", "the database is being opened again");
    }
    try {
      return work();
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (!isTrusted(code)) this.#disconnect();
      throw error;
    }
  }

  /**
   * If the file is deleted, moved or replaced while the gateway runs, writes would go into one that nobody will ever read again, and
   * what has the path now may be another's: nothing is read from or written to either until the file is back. Only an earlier state of
   * the same database, as from a backup, is used instead, if the directory is still this gateway's.
   */
  #checkPlaces(): void {
    const { path } = this.#options;
    const moved = this.#moved();
    if (moved === undefined) return;
    if (moved.path !== path || moved.present === undefined || !this.#isSame(moved.present)) {
      throw replaced(moved);
    }
    this.#disconnect();
    this.#places.set(path, moved.present);
    this.#open();
  }

  /** The first path that leads elsewhere than it did, and where. */
  #moved(): Moved | undefined {
    const { path, beside } = this.#options;
    for (const one of [...beside, path]) {
      const present = placeOf(one);
      if (present !== this.#places.get(one)) return { path: one, present };
    }
    return undefined;
  }

  /** Whether what has the path is this database, without locking it or writing beside it. */
  #isSame(place: string): boolean {
    if (this.#id === undefined || place === this.#stranger) return false;
    const connection = connect(this.#options.path, { mode: "ro", immutable: "1" });
    try {
      if (idOf(connection) === this.#id) return true;
    } finally {
      connection.close();
    }
    this.#stranger = place;
    return false;
  }

  #statement(sql: string): Prepared {
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    if (this.#prepared.size >= MAX_PREPARED) this.#prepared.clear();
    const made = this.#connection!.prepare(sql);
    this.#prepared.set(sql, made);
    return made;
  }

  #commit(statements: readonly Statement[], rows: boolean): Row[][] {
    this.#statement("begin immediate").run([]);
    let isCommitting = false;
    try {
      const results = statements.map(({ sql, args = [], first }): Row[] => {
        const ready = this.#statement(sql);
        if (first) {
          const row = ready.get(args);
          return row === undefined ? [] : [plain(row)];
        }
        if (rows && ready.reader) return ready.all(args).map(plain);
        ready.run(args);
        return [];
      });
      isCommitting = true;
      this.#statement("commit").run([]);
      const moved = this.#moved();
      if (moved !== undefined) throw replaced(moved); // it is in a file that nobody may read again
      return results;
    } catch (error) {
      this.#rollBack();
      // a commit that failed to be written may be found in the log all the same
      if (isCommitting) throw unknown(error);
      throw error;
    }
  }

  #rollBack(): void {
    const connection = this.#connection!;
    try {
      if (connection.inTransaction) connection.exec("rollback");
    } catch {
      // the failed statement may have ended the transaction
    }
    // a transaction that cannot be ended would take in what others write
    if (connection.inTransaction) this.#disconnect();
  }

  #checkpointWhenLong(): void {
    if (!this.#log!.hasPages(CHECKPOINT_PAGES)) return;
    const connection = this.#connection!;
    try {
      connection.exec("pragma busy_timeout = 0"); // a reader that takes long holds up nobody
      connection.prepare("pragma wal_checkpoint(restart)").get([]);
    } catch (error) {
      if (isBusy(error)) return; // another process reads or writes just now: a later commit tries again
      this.#disconnect(); // what was asked is committed
      return;
    } finally {
      if (this.#connection !== undefined) connection.exec(`pragma busy_timeout = ${BUSY_MS}`);
    }
  }

  /** Gives up the connection and what it has in memory. The driver closes it once its statements are collected. */
  #disconnect(): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    this.#connection = undefined;
    this.#prepared.clear();
    const { path } = this.#options;
    // closing it would remove the log and the index that have the path now, which are another's
    const isElsewhere = this.#places.size > 0 && placeOf(path) !== this.#places.get(path);
    if (isElsewhere) leftOpen.push(connection);
    try {
      if (connection.inTransaction) connection.exec("rollback");
      if (!isElsewhere) connection.close();
    } catch {
      // it is not used any more
    }
  }
}

/** Connections that end with the process. */
const leftOpen: Connection[] = [];

/** What tells a file from another of the same name; `undefined` if there is none. */
function placeOf(path: string): string | undefined {
  try {
    const { dev, ino } = Deno.statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

/** A path that leads elsewhere; `present` is `undefined` if it leads nowhere. */
interface Moved {
  readonly path: string;
  readonly present: string | undefined;
}

function replaced({ path, present }: Moved): DatabaseError {
  const what = present === undefined ? "was moved or deleted" : "was replaced";
  return new DatabaseError(
    "SLUICE_REPLACED",
    `${path} ${what} under the running gateway: put the file back, or restart the gateway`,
    { outcomeUnknown: true },
  );
}

function isTrusted(code: unknown): boolean {
  return typeof code === "string" && TRUSTED.test(code);
}

/** The failure of something that may have been done. */
function unknown(error: unknown): unknown {
  const { code } = error as { code?: unknown };
  if (isTrusted(code)) return error;
  const message = error instanceof Error ? error.message : String(error);
  const known = typeof code === "string" ? code : "SQLITE_IOERR";
  return new DatabaseError(known, message, { cause: error, outcomeUnknown: true });
}
