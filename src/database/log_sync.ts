/**
 * Makes the write-ahead log durable while further commits go on.
 *
 * SQLite's own way (`synchronous = full`) waits for the disk within a commit, with the write lock held.
 * Here a commit only writes (`synchronous = normal`), and whoever needs it durable waits for the next
 * `fdatasync` of the log, which serves all commits that were made before it began. A log whose end was
 * lost with the power is read up to its first broken frame (https://sqlite.org/walformat.html), so what
 * was waited for is there, and nothing without what came before it.
 */
export class LogSync {
  readonly #path: string;
  readonly #checkpoint: () => void;
  #log: Deno.FsFile | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #doubtful = false;

  /**
   * @param path Of the log. It need not be there before the first commit.
   * @param checkpoint Copies the whole log into the database and makes that durable.
   */
  constructor(path: string, checkpoint: () => void) {
    this.#path = path;
    this.#checkpoint = checkpoint;
  }

  /** Resolves when all that was committed before is durable. */
  durable(): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    if (this.#running === undefined) return this.#begin();
    return this.#next = this.#running.catch(() => {}).then(() => this.#begin());
  }

  /** Lets go of the log. */
  close(): void {
    this.#log?.close();
    this.#log = undefined;
  }

  #begin(): Promise<void> {
    this.#next = undefined;
    const running = this.#sync().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  async #sync(): Promise<void> {
    try {
      // A system that failed to write says so once and forgets what it could not write, so that the log
      // may have a hole: all of it must be elsewhere before anything that follows counts as durable.
      if (this.#doubtful) this.#checkpoint();
      this.#doubtful = false;
      this.#log ??= Deno.openSync(this.#path, { read: true, write: true }); // Windows: to write
      await this.#log.syncData();
    } catch (cause) {
      this.#doubtful = true;
      const why = cause instanceof Error ? cause.message : String(cause);
      throw Object.assign(new Error(`the log could not be made durable: ${why}`, { cause }), {
        code: "SQLITE_IOERR_FSYNC",
      });
    }
  }
}
