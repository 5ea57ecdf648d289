import {
  type Database,
  DatabaseError,
  type GroupWrite,
  type Json,
  type ObserveCommit,
  type Row,
  type Statement,
  type Value,
} from "./database.ts";
import type { Answer, Ask, Numbered } from "./embedded_protocol.ts";
import { Roster } from "../roster.ts";
import { GroupWriter } from "./group_writer.ts";

/** An embedded libSQL file, owned by a thread of its own. */
export class EmbeddedDatabase implements Database {
  readonly place: string;
  readonly #worker: Worker;
  readonly #durable: GroupWriter;
  readonly #forgettable: GroupWriter;
  readonly #open = new Roster<PromiseWithResolvers<Row[][]>>();
  #closed = false;

  private constructor(path: string, observe: ObserveCommit | undefined) {
    this.place = path;
    this.#worker = new Worker(new URL("./embedded_worker.ts", import.meta.url), {
      type: "module",
      name: "database",
    });
    this.#worker.onmessage = (event: MessageEvent<Answer>) => this.#resolve(event.data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#failAll(`the database's thread died: ${event.message}`);
    };
    const writer = (durable: boolean) =>
      new GroupWriter(
        (statements) => this.#ask({ type: "commit", statements, rows: false, durable }),
        observe && ((items, seconds, failed) => observe({ durable, seconds, items, failed })),
      );
    this.#durable = writer(true);
    this.#forgettable = writer(false);
  }

  /** Opens the file at `path`, creating it when it is not there. */
  static async open(
    path: string,
    durability: "full" | "normal",
    observe?: ObserveCommit,
  ): Promise<EmbeddedDatabase> {
    const database = new EmbeddedDatabase(path, observe);
    try {
      await database.#ask({
        type: "open",
        path,
        synchronous: durability === "full" ? "FULL" : "NORMAL",
      });
    } catch (error) {
      database.#worker.terminate();
      throw error;
    }
    return database;
  }

  get waiting(): number {
    return this.#durable.waiting + this.#forgettable.waiting;
  }

  async all(sql: string, args: readonly Value[] = []): Promise<Row[]> {
    return (await this.#ask({ type: "all", sql, args }))[0] ?? [];
  }

  async one(sql: string, args: readonly Value[] = []): Promise<Row | undefined> {
    return (await this.#ask({ type: "one", sql, args }))[0]?.[0];
  }

  batch(statements: readonly Statement[]): Promise<Row[][]> {
    return this.#ask({ type: "commit", statements, rows: true, durable: true });
  }

  write<Item extends readonly [string, ...Json[]], Outcome>(
    write: GroupWrite<Item, Outcome>,
    item: Item,
  ): Promise<Outcome> {
    return (write.forgettable ? this.#forgettable : this.#durable).write(write, item);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    await Promise.all([this.#durable.idle(), this.#forgettable.idle()]);
    await this.#ask({ type: "close" });
    this.#closed = true;
    this.#worker.terminate();
  }

  #ask(ask: Ask): Promise<Row[][]> {
    if (this.#closed) {
      return Promise.reject(new DatabaseError("SLUICE_CLOSED", "The database is closed"));
    }
    const waiting = Promise.withResolvers<Row[][]>();
    const id = this.#open.add(waiting);
    this.#worker.postMessage({ id, ask } satisfies Numbered);
    return waiting.promise;
  }

  #resolve(answer: Answer): void {
    const waiting = this.#open.take(answer.id);
    if (answer.ok) waiting?.resolve(answer.rows);
    else waiting?.reject(new DatabaseError(answer.code, answer.message));
  }

  #failAll(message: string): void {
    this.#closed = true;
    for (const { reject } of this.#open.clear()) {
      reject(new DatabaseError("SLUICE_THREAD_DIED", message));
    }
  }
}
