const MAX_FRAME_OFFSET = 16;
/** The index is in the machine's own byte order. */
const LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/**
 * The index of a write-ahead log. Closing a file drops all locks that the process has on it (fcntl(2)), those of the connection
 * included: so it stays open for as long as the connection may use the same file.
 */
export class LogIndex {
  readonly #path: string;
  #file: Deno.FsFile | undefined;
  #place: number | null = null;

  /** @param database Path of the database. */
  constructor(database: string) {
    this.#path = `${database}-shm`;
  }

  /**
   * Returns the number of pages in the log, as its index says (https://sqlite.org/walformat.html, `mxFrame`).
   *
   * The log's size does not tell: the file is kept and written again from its beginning, since a file
   * that does not grow is made durable in half the time.
   */
  get pages(): number {
    try {
      const file = this.#open();
      file.seekSync(MAX_FRAME_OFFSET, Deno.SeekMode.Start);
      const bytes = new Uint8Array(4);
      if (file.readSync(bytes) !== 4) return 0;
      return new DataView(bytes.buffer).getUint32(0, LITTLE_ENDIAN);
    } catch {
      return 0; // no log yet
    }
  }

  /** Closes it; only after the connection was. */
  close(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  #open(): Deno.FsFile {
    const { ino } = Deno.statSync(this.#path);
    if (this.#file !== undefined && this.#place !== ino) this.close(); // of a connection that is no more
    this.#place = ino;
    return this.#file ??= Deno.openSync(this.#path);
  }
}
