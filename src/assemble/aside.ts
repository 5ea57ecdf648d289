import { type Config, databaseFile } from "../settings/config/mod.ts";
import type { Database } from "../ground/database/mod.ts";
import { openStore, type Store, type StoreOptions } from "./store.ts";

/** How long a connection stays open after its last use. */
const KEEP_MS = 30_000;

/**
 * Runs long work on database connections of its own, so that requests do not wait for it. Opening one takes 200 ms or more, with a
 * thread of its own, so that one that is not in use stays open for half a minute. Against a libSQL server, work runs on the gateway's.
 */
export class Aside implements AsyncDisposable {
  readonly #config: Config;
  readonly #shared: Database | undefined;
  readonly #options: StoreOptions;
  #kept: Store | undefined;
  #closing: ReturnType<typeof setTimeout> | undefined;
  #isDisposed = false;

  /** @param store The gateway's. */
  constructor(config: Config, { database }: Pick<Store, "database">, { now }: StoreOptions = {}) {
    this.#config = config;
    this.#shared = databaseFile(config.settings) === undefined ? database : undefined;
    this.#options = { ...(now === undefined ? {} : { now }), besideGateway: true };
  }

  /** Does the work. Its connection is closed if it fails. */
  async run<T>(work: (database: Database) => Promise<T>): Promise<T> {
    if (this.#shared !== undefined) return await work(this.#shared);
    const store = this.#take() ?? await openStore(this.#config, this.#options);
    let isKept = false;
    try {
      const result = await work(store.database);
      isKept = this.#keep(store);
      return result;
    } finally {
      if (!isKept) await store[Symbol.asyncDispose]();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    await this.#close();
  }

  async #close(): Promise<void> {
    await this.#take()?.[Symbol.asyncDispose]();
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
