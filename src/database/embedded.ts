import {
  type Database,
  DatabaseError,
  type GroupWrite,
  type JsonObject,
  type ObserveCommit,
  type Row,
  type Statement,
  type Value,
} from "./database.ts";
import type { Answer, Ask, Numbered } from "./embedded_protocol.ts";
import { SlotMap } from "../platform/mod.ts";
import { GroupWriter } from "./group_writer.ts";

/** An embedded libSQL file, owned by a thread of its own. */
export class EmbeddedDatabase implements Database {
  readonly place: string;
  readonly #worker: Worker;
  /** Whether what is acknowledged survives the loss of power. */
  readonly #durable: boolean;
  readonly #writer: GroupWriter;
  readonly #open = new SlotMap<PromiseWithResolvers<Row[][]>>();
  #closed = false;

  private constructor(path: string, durable: boolean, observe: ObserveCommit | undefined) {
    this.place = path;
    this.#durable = durable;
    this.#worker = new Worker(new URL("./embedded_worker.ts", import.meta.url), {
      type: "module",
      name: "database",
    });
    this.#worker.onmessage = (event: MessageEvent<Answer>) => this.#resolve(event.data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#failAll(`the database's thread died: ${event.message}`);
    };
    this.#writer = new GroupWriter(
      (statements, durable) => this.#commit(statements, { rows: false, durable }),
      observe,
    );
  }

  /** Opens the file at `path`, creating it when it is not there. */
  static async open(
    path: string,
    durability: "full" | "normal",
    observe?: ObserveCommit,
  ): Promise<EmbeddedDatabase> {
    const database = new EmbeddedDatabase(path, durability === "full", observe);
    try {
      await database.#ask({ type: "open", path });
    } catch (error) {
      database.#worker.terminate();
      throw error;
    }
    return database;
  }

  get waiting(): number {
    return this.#writer.waiting;
  }

  async all(sql: string, args: readonly Value[] = []): Promise<Row[]> {
    return (await this.#ask({ type: "all", sql, args }))[0] ?? [];
  }

  async one(sql: string, args: readonly Value[] = []): Promise<Row | undefined> {
    return (await this.#ask({ type: "one", sql, args }))[0]?.[0];
  }

  batch(statements: readonly Statement[]): Promise<Row[][]> {
    return this.#commit(statements, { rows: true, durable: true });
  }

  write<Item extends JsonObject, Outcome>(
    write: GroupWrite<Item, Outcome>,
    item: Item,
  ): Promise<Outcome> {
    return this.#writer.write(write, item);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    await this.#writer.idle();
    await this.#ask({ type: "close" });
    this.#closed = true;
    this.#worker.terminate();
  }

  #commit(
    statements: readonly Statement[],
    { rows, durable }: { rows: boolean; durable: boolean },
  ): Promise<Row[][]> {
    return this.#ask({ type: "commit", statements, rows, durable: durable && this.#durable });
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
    else {
      const outcomeUnknown = answer.code === "SQLITE_IOERR_FSYNC"; // committed, and maybe not for good
      waiting?.reject(new DatabaseError(answer.code, answer.message, { outcomeUnknown }));
    }
  }

  #failAll(message: string): void {
    this.#closed = true;
    for (const { reject } of this.#open.clear()) {
      reject(new DatabaseError("SLUICE_THREAD_DIED", message));
    }
  }
}
