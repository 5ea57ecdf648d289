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
import { GroupWriter } from "./group_writer.ts";

/** The face of `@libsql/client` that is used; it is loaded only when a server is. */
interface Client {
  execute(statement: { sql: string; args: Value[] }): Promise<ResultSet>;
  batch(statements: { sql: string; args: Value[] }[], mode: "write"): Promise<ResultSet[]>;
  close(): void;
}

interface ResultSet {
  readonly columns: string[];
  readonly rows: ArrayLike<Value>[];
}

/**
 * A libSQL server shared by several gateways.
 *
 * One write at a time: sqld 0.24.32 stops answering writes for good when eight or more write
 * batches are in flight.
 */
export class ServerDatabase implements Database {
  readonly place: string;
  readonly #client: Client;
  readonly #writer: GroupWriter;
  #lastWrite: Promise<unknown> = Promise.resolve();

  private constructor(client: Client, place: string, observe: ObserveCommit | undefined) {
    this.#client = client;
    this.place = place;
    this.#writer = new GroupWriter(
      async (statements) => ({ rows: await this.batch(statements), durable: Promise.resolve() }),
      observe,
    );
  }

  /** Connects to the server at `url` and makes sure that it answers. */
  static async connect(
    { url, token }: { url: string; token: string | undefined },
    observe?: ObserveCommit,
  ): Promise<ServerDatabase> {
    const { createClient } = await import("@libsql/client");
    const client = createClient({
      url,
      intMode: "number",
      ...(token === undefined ? {} : { authToken: token }),
    });
    // narrowed to what is used: rows as numbers, texts and nulls (`intMode`, no blobs)
    const database = new ServerDatabase(client as unknown as Client, new URL(url).host, observe);
    try {
      await database.one("select 1");
    } catch (error) {
      client.close();
      throw new DatabaseError(
        "SLUICE_SERVER",
        `Cannot use the libSQL server ${database.place}: ${
          error instanceof Error ? error.message : String(error)
        }`,
        { cause: error },
      );
    }
    return database;
  }

  get waiting(): number {
    return this.#writer.waiting;
  }

  async all(sql: string, args: readonly Value[] = []): Promise<Row[]> {
    return toRows(await this.#try(() => this.#client.execute({ sql, args: [...args] })));
  }

  async one(sql: string, args: readonly Value[] = []): Promise<Row | undefined> {
    return (await this.all(sql, args))[0];
  }

  async batch(statements: readonly Statement[]): Promise<Row[][]> {
    const results = await this.#alone(() =>
      this.#try(() =>
        this.#client.batch(
          statements.map(({ sql, args = [] }) => ({ sql, args: [...args] })),
          "write",
        )
      )
    );
    return results.map(toRows);
  }

  write<Item extends readonly [string, ...Json[]], Outcome>(
    write: GroupWrite<Item, Outcome>,
    item: Item,
  ): Promise<Outcome> {
    return this.#writer.write(write, item);
  }

  async close(): Promise<void> {
    await this.#writer.idle();
    await this.#lastWrite.catch(() => {});
    this.#client.close();
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#lastWrite.then(work, work);
    this.#lastWrite = mine.catch(() => {});
    return mine;
  }

  async #try<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const code = (error as { code?: unknown }).code;
      throw new DatabaseError(
        typeof code === "string" ? code : "SLUICE_SERVER",
        error instanceof Error ? error.message : String(error),
        { cause: error },
      );
    }
  }
}

function toRows(result: ResultSet): Row[] {
  return result.rows.map((row) =>
    Object.fromEntries(result.columns.map((column, index) => [column, row[index] ?? null]))
  );
}
