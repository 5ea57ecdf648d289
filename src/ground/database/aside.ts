import { within } from "../platform/mod.ts";
import type { Database } from "./database.ts";
import { isOpened } from "./engine.ts";

/** For a query in progress, as of a large file, that no shutdown waits for any longer. */
const CLOSE_MS = 10_000;
const CLOSED = "The gateway is closing";

/**
 * Reads for long on connections of their own, so that no request waits for it, nor any write for room in the log. Where reads hold up no
 * writes, as at a server, on the database itself.
 */
export class Aside implements AsyncDisposable {
  readonly #database: Database;
  /** Connections that work is done with, also those that are being opened. */
  readonly #used = new Set<Promise<Database>>();
  #isDisposed = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Does the work, which only reads.
   *
   * @throws {Error} when this is closed meanwhile.
   */
  async run<T>(work: (database: Database) => Promise<T>): Promise<T> {
    const database = this.#database;
    if (!isOpened(database) || database.openReader === undefined) return await work(database);
    if (this.#isDisposed) throw new Error(CLOSED);
    await database.flush?.({ durable: false });
    const opening = database.openReader([]);
    this.#used.add(opening);
    try {
      const own = await opening;
      if (this.#isDisposed) throw new Error(CLOSED);
      return await work(own);
    } finally {
      await closeOpened(opening);
      this.#used.delete(opening);
    }
  }

  /**
   * Closes all connections: work in progress fails at its next query. Resolves when no query runs any more, or after ten seconds.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    await within(CLOSE_MS, Promise.all([...this.#used].map(closeOpened)), () => {});
  }
}

/** Closes a connection once it is open; one that could not be opened needs it not. */
async function closeOpened(opening: Promise<Database>): Promise<void> {
  const database = await opening.catch(() => undefined);
  await database?.close();
}
