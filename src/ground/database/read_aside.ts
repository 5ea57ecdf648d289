import { AsyncLocalStorage } from "node:async_hooks";
import type { TimeSlices } from "../fair_share/mod.ts";
import type { Database, ReadOptions, Row, Value } from "./database.ts";
import { WrappedDatabase } from "./wrapped_database.ts";

/** Does work whose reads are an owner's: an account, or a visitor. */
export type ReadFor = <T>(owner: string, work: () => T) => T;

/** Who reads, where nobody said. */
const NOBODY = "";

/**
 * A database whose reads go to a connection and thread of their own, so that no request to a model waits for a report. Accounts take
 * turns by time. Writes go to the database itself; a read that follows a write sees it.
 */
export class ReadAside extends WrappedDatabase {
  readonly #open: () => Promise<Database>;
  readonly #slices: TimeSlices;
  readonly #owner = new AsyncLocalStorage<string>();
  #reader: Promise<Database> | undefined;
  #isClosed = false;

  /**
   * @param database The database itself.
   * @param open Opens the connection for reads, when the first is needed.
   * @param slices The turns of accounts.
   */
  constructor(database: Database, open: () => Promise<Database>, slices: TimeSlices) {
    super(database);
    this.#open = open;
    this.#slices = slices;
  }

  /** Does work whose reads are an owner's: an account, or a visitor. */
  readonly readFor: ReadFor = (owner, work) => this.#owner.run(owner, work);

  override all(sql: string, args?: readonly Value[], options?: ReadOptions): Promise<Row[]> {
    return this.#read((reader) => reader.all(sql, args, options));
  }

  override one(sql: string, args?: readonly Value[]): Promise<Row | undefined> {
    return this.#read((reader) => reader.one(sql, args));
  }

  /** Closes the connection for reads. */
  override async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#reader?.catch(() => undefined))?.close();
  }

  async #read<T>(work: (reader: Database) => Promise<T>): Promise<T> {
    if (this.#isClosed) return await work(this.inner); // which is about to be closed, too
    this.#reader ??= this.#open();
    let reader: Database;
    try {
      reader = await this.#reader;
    } catch {
      this.#reader = undefined; // and it is tried again
      return await work(this.inner);
    }
    await this.inner.flush?.({ durable: false });
    return await this.#slices.run(this.#owner.getStore() ?? NOBODY, () => work(reader));
  }
}
