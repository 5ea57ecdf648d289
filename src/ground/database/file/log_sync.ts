import { DatabaseError } from "../database.ts";

/**
 * Makes the write-ahead log durable.
 *
 * SQLite's own way (`synchronous = full`) waits for the disk within a commit, with the write lock held.
 * Here a commit only writes (`synchronous = normal`), and `fdatasync` of the log follows for those commits that somebody
 * needs durable. A log whose end was lost with the power is read up to its first broken frame
 * (https://sqlite.org/walformat.html), so what was waited for is there, and nothing without what came before it.
 */
export class LogSync {
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
      this.#log ??= Deno.openSync(this.#path, { read: true, write: true }); // Windows: to write
      this.#log.syncDataSync();
    } catch (cause) {
      this.#doubtful = true;
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new DatabaseError("SQLITE_IOERR_FSYNC", `the log could not be made durable: ${why}`, {
        cause,
        outcomeUnknown: true, // committed, and maybe not for good
      });
    }
  }

  /** Lets go of the log. */
  close(): void {
    this.#log?.close();
    this.#log = undefined;
  }
}
