import { type Config, databaseFile } from "../settings/config/mod.ts";
import type { Database } from "../ground/database/mod.ts";
import { within } from "../ground/platform/mod.ts";
import { openStore, type Store, type StoreOptions } from "./store.ts";

/** How long a connection stays open after its last use. */
const KEEP_MS = 30_000;
/** For a query in progress, as of a copy of a large file, that no shutdown waits for any longer. */
const CLOSE_MS = 10_000;
const CLOSED = "The gateway is closing";

/**
 * Runs long work on database connections of its own, so that requests do not wait for it. Opening one takes 200 ms or more, with a
 * thread of its own, so that one that is not in use stays open for half a minute. Against a libSQL server, work runs on the gateway's.
 */
export class Aside implements AsyncDisposable {
  readonly #config: Config;
  readonly #database: Database;
  readonly #isShared: boolean;
  readonly #options: StoreOptions;
  #kept: Store | undefined;
  /** Connections that work is done with, also those that are being opened. */
  readonly #used = new Set<Promise<Store>>();
  #closing: ReturnType<typeof setTimeout> | undefined;
  #isDisposed = false;

  /** @param store The gateway's. */
  constructor(config: Config, { database }: Pick<Store, "database">, { now }: StoreOptions = {}) {
    this.#config = config;
    this.#database = database;
    this.#isShared = databaseFile(config.settings) === undefined;
    this.#options = {
      ...(now === undefined ? {} : { now }),
      besideGateway: true,
      outboxes: "leave",
    };
  }

  /**
   * Does the work. Its connection is closed if it fails.
   *
   * @throws {Error} when the gateway closes meanwhile.
   */
  async run<T>(work: (database: Database) => Promise<T>): Promise<T> {
    if (this.#isShared) return await work(this.#database);
    if (this.#isDisposed) throw new Error(CLOSED);
    await this.#database.flush?.({ durable: false });
    const kept = this.#take();
    const used = kept === undefined
      ? openStore(this.#config, this.#options)
      : Promise.resolve(kept);
    this.#used.add(used);
    let isKept = false;
    try {
      const store = await used;
      if (this.#isDisposed) throw new Error(CLOSED);
      const result = await work(store.database);
      isKept = this.#keep(store);
      return result;
    } finally {
      if (!isKept) await closeOpened(used);
      this.#used.delete(used);
    }
  }

  /**
   * Closes all connections: work in progress fails at its next query. Resolves when no query runs any more, as nothing may
   * be written beside the database once the gateway is gone, or after ten seconds.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    const closed = Promise.all([this.#close(), ...[...this.#used].map(closeOpened)]);
    await within(CLOSE_MS, closed, () => {});
  }

  async #close(): Promise<void> {
    const kept = this.#take();
    if (kept === undefined) return;
    const used = Promise.resolve(kept);
    this.#used.add(used);
    await closeOpened(used).finally(() => this.#used.delete(used));
  }

  #take(): Store | undefined {
    clearTimeout(this.#closing);
    const kept = this.#kept;
    this.#kept = undefined;
    return kept;
  }

  /** Returns whether the connection stays open: there is none yet. */
  #keep(store: Store): boolean {
    if (this.#kept !== undefined || this.#isDisposed) return false;
    this.#kept = store;
    this.#closing = setTimeout(
      () => void this.#close().catch(() => {}), // nothing is read with it any more
      KEEP_MS,
    );
    Deno.unrefTimer(this.#closing);
    return true;
  }
}

/** Closes a connection once it is open; one that could not be opened needs it not. */
async function closeOpened(opening: Promise<Store>): Promise<void> {
  const store = await opening.catch(() => undefined);
  await store?.[Symbol.asyncDispose]();
}
