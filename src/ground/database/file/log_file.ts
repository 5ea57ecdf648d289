import { DatabaseError } from "../database.ts";

/** Bytes of the header of the log, and of the header that is before each page. */
const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/**
 * Makes the write-ahead log durable, and tells how long it is.
 *
 * SQLite's own way (`synchronous = full`) waits for the disk within a commit, with the write lock held.
 * Here a commit only writes (`synchronous = normal`), and `fdatasync` of the log follows for those commits that somebody
 * needs durable. A log whose end was lost with the power is read up to its first broken frame
 * (https://sqlite.org/walformat.html), so what was waited for is there, and nothing without what came before it.
 */
export class LogFile {
  readonly #path: string;
  readonly #checkpoint: () => void;
  #log: Deno.FsFile | undefined;
  #doubtful: boolean;

  /**
   * @param path Of the log. It need not be there before the first commit.
   * @param checkpoint Copies the whole log into the database and makes that durable.
   * @param options.isDoubtful Whether writes to the log may have been lost before, as after an I/O error.
   */
  constructor(path: string, checkpoint: () => void, { isDoubtful = false } = {}) {
    this.#path = path;
    this.#checkpoint = checkpoint;
    this.#doubtful = isDoubtful;
  }

  /**
   * Waits until all that was committed is durable.
   *
   * The thread that owns the database waits itself: to hand the wait to another thread and to be woken up costs more
   * than most disks take.
   *
   * @throws {DatabaseError} `SQLITE_IOERR_FSYNC`.
   */
  sync(): void {
    try {
      // A system that failed to write says so once and forgets what it could not write, so that the log
      // may have a hole: all of it must be elsewhere before anything that follows counts as durable.
      if (this.#doubtful) this.#checkpoint();
      this.#doubtful = false;
      this.#opened().syncDataSync();
    } catch (cause) {
      this.#doubtful = true;
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new DatabaseError("SQLITE_IOERR_FSYNC", `the log could not be made durable: ${why}`, {
        cause,
        outcomeUnknown: true, // committed, and maybe not for good
      });
    }
  }

  /**
   * Whether the log has at least a number of pages since it was last begun.
   *
   * Its size does not tell: the file is kept and written again from its beginning, since a file that does not grow is made
   * durable in half the time. Each page that was written since then has the salts of the header
   * (https://sqlite.org/walformat.html). The index would say, but is not to be opened here: closing a file drops all locks that
   * the process has on it (fcntl(2)), and SQLite has its own on that one.
   */
  hasPages(count: number): boolean {
    try {
      const header = this.#read(0, HEADER_BYTES);
      const frameBytes = FRAME_HEADER_BYTES + header.getUint32(8);
      const last = this.#read(HEADER_BYTES + (count - 1) * frameBytes, FRAME_HEADER_BYTES);
      return last.getBigUint64(8) === header.getBigUint64(16);
    } catch {
      return false; // it is shorter, or cannot be read: then nothing can be made durable, which says so
    }
  }

  /** When the log or its database was last written, by the clock of its disk; for comparison only. 0 if that cannot be told. */
  writtenAtMs(): number {
    const paths = [this.#path, this.#path.replace(/-wal$/, "")];
    return Math.max(...paths.map(modifiedAtMs));
  }

  /** @throws {RangeError} On use, of bytes that are not there. */
  #read(from: number, length: number): DataView {
    const bytes = new Uint8Array(length);
    const log = this.#opened();
    log.seekSync(from, Deno.SeekMode.Start);
    return new DataView(bytes.buffer, 0, log.readSync(bytes) ?? 0);
  }

  #opened(): Deno.FsFile {
    return this.#log ??= Deno.openSync(this.#path, { read: true, write: true }); // Windows: to write
  }

  /** Lets go of the log. */
  close(): void {
    this.#log?.close();
    this.#log = undefined;
  }
}

function modifiedAtMs(path: string): number {
  try {
    return Deno.statSync(path).mtime?.getTime() ?? 0;
  } catch {
    return 0;
  }
}
