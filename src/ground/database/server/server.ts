import {
  type Database,
  DatabaseError,
  type GroupWrite,
  type JsonObject,
  type ObserveCommit,
  type OutboxState,
  type ReadOptions,
  type Row,
  type Statement,
  type Value,
} from "../database.ts";
import type { KeepOptions, OpenedDatabase, UseOptions } from "../engine.ts";
import { GroupWriter, type Writing } from "../group_writer.ts";
import { render } from "../../sql/mod.ts";
import { sqliteError } from "../sqlite/failures.ts";
import { LOOK_MS, Presence, SERVER_SILENT_MS } from "../presence.ts";
import { ServerOutbox } from "./server_outbox.ts";
import { within } from "../within.ts";

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

/** How a server is used. */
export interface ServerOptions extends Omit<UseOptions, "observe"> {
  readonly url: string;
  readonly token: string | undefined;
  /** How long an answer is waited for. */
  readonly patienceMs?: number;
}

/** As long as an embedded file waits for another process. */
const PATIENCE_MS = 5_000;

/** How long a settlement waits for the server before it is kept here. */
const KEEP_AFTER_MS = 1_000;

/** What SQLite calls `full`: a commit waits for the disk. */
const DURABLE = 2;
const IS_DURABLE = "pragma synchronous";
/** Fails, and its transaction with it, where that is not so. */
const MUST_BE_DURABLE: Statement = {
  sql: `select case when synchronous < ${DURABLE} then abs(-9223372036854775807 - 1) end
    from pragma_synchronous`,
};

/**
 * A libSQL server shared by several gateways.
 *
 * One write at a time: sqld 0.24.32 stops answering writes for good when eight or more write
 * batches are in flight.
 *
 * As shipped, sqld does not wait for the disk (`durability_mode` "relaxed"), and it may be so again
 * after a restart. Only the server can say how it is, so each write asks it in its own transaction.
 */
export class ServerDatabase implements OpenedDatabase {
  readonly place: string;
  readonly #client: Client;
  readonly #connect: (patienceMs: number) => Client;
  /** For reads that may take longer. */
  #patientClient: { readonly patienceMs: number; readonly client: Client } | undefined;
  readonly #durable: boolean;
  readonly #writer: GroupWriter;
  readonly #presence = new Presence({ silentMs: SERVER_SILENT_MS, code: "SLUICE_SERVER" });
  #outbox: ServerOutbox | undefined;
  #looking: ReturnType<typeof setInterval> | undefined;
  #lastWrite: Promise<unknown> = Promise.resolve();

  private constructor(
    connect: (patienceMs: number) => Client,
    { url, durability, patienceMs = PATIENCE_MS }: ServerOptions,
    observe: ObserveCommit | undefined,
  ) {
    this.#connect = connect;
    this.#client = connect(patienceMs);
    this.place = new URL(url).host;
    this.#durable = durability === "full";
    this.#writer = new GroupWriter(
      (statements) => this.batch(statements),
      observe,
    );
  }

  /** Connects to the server and makes sure that it answers, and that it is as durable as it should be. */
  static async connect(
    options: ServerOptions,
    observe?: ObserveCommit,
  ): Promise<ServerDatabase> {
    const { url, token } = options;
    const { createClient } = await import("@libsql/client");
    const client = (patienceMs: number) => {
      const made = createClient({
        url,
        intMode: "number",
        fetch: patient(patienceMs),
        ...(token === undefined ? {} : { authToken: token }),
      });
      // its type has rows of more kinds than there are: with `intMode` and no blobs, only numbers, texts and nulls
      return made as unknown as Client;
    };
    const database = new ServerDatabase(client, options, observe);
    try {
      await database.#mustBeDurable();
    } catch (cause) {
      database.#client.close();
      const { code, message, outcomeUnknown } = cause as DatabaseError;
      throw sqliteError(
        code,
        `Cannot use the libSQL server ${database.place}: ${message}`,
        { cause, outcomeUnknown },
      );
    }
    return database;
  }

  get waiting(): number {
    return this.#writer.waiting;
  }

  async all(
    sql: string,
    args: readonly Value[] = [],
    { patienceMs }: ReadOptions = {},
  ): Promise<Row[]> {
    const client = patienceMs === undefined ? this.#client : this.#patient(patienceMs);
    return toRows(
      await this.#try(() => client.execute({ sql: render(sql, "sqlite"), args: [...args] })),
    );
  }

  async one(sql: string, args: readonly Value[] = []): Promise<Row | undefined> {
    return (await this.all(sql, args))[0];
  }

  async batch(statements: readonly Statement[]): Promise<Row[][]> {
    // what was kept comes first: a loan must not be returned before what it was spent on is charged
    if (this.#outbox !== undefined && this.#outbox.count > 0) await this.#outbox.taken();
    return await this.#commit(statements);
  }

  async #commit(statements: readonly Statement[]): Promise<Row[][]> {
    const asked = this.#durable ? [MUST_BE_DURABLE, ...statements] : statements;
    try {
      const results = await this.#alone(() =>
        this.#try(() =>
          this.#client.batch(
            asked.map(({ sql, args = [] }) => ({ sql: render(sql, "sqlite"), args: [...args] })),
            "write",
          )
        )
      );
      return results.slice(asked.length - statements.length).map(toRows);
    } catch (error) {
      if (/integer overflow/.test(String(error))) await this.#mustBeDurable();
      throw error;
    }
  }

  write<Item extends JsonObject, Outcome>(
    write: GroupWrite<Item, Outcome>,
    item: Item,
  ): Promise<Outcome> {
    return this.#writer.write(write, item);
  }

  writeBehind: Database["writeBehind"];
  outbox: OutboxState | undefined;
  refused: Database["refused"];
  flush: Database["flush"];

  /**
   * Keeps in files of this gateway from now on what is written behind while the server does not answer; first takes what earlier
   * gateways have kept there.
   *
   * @throws {DatabaseError} If the server does not take that.
   */
  async keepOutbox(options: KeepOptions): Promise<void> {
    const { id } = (await this.all("select id from database_identity"))[0]!;
    const outbox = new ServerOutbox({
      ...options,
      database: String(id),
      durable: this.#durable,
      commit: (statements) => this.#commit(statements),
    });
    await outbox.takeEarlier(options.writes, false);
    await outbox.prepare();
    const presence = this.#presence;
    this.#outbox = outbox;
    this.outbox = {
      get isUsable() {
        return outbox.isUsable;
      },
      get kept() {
        return outbox.count;
      },
      get isDetached() {
        return presence.isAway;
      },
      isShared: true,
    };
    this.refused = () => outbox.refused();
    this.flush = async ({ durable }) => {
      if (durable || !presence.isAway) await outbox.taken();
    };
    this.writeBehind = (write, item) => this.#writeOrKeep(outbox, write, item);
    this.#looking = setInterval(() => {
      presence.tell(options.onState ?? (() => {}));
      if (outbox.isToEmpty) outbox.empty().catch(() => {}); // it stays where it is
    }, LOOK_MS);
  }

  async takeOutboxes(
    writes: readonly Writing[],
    { onlyDead = false }: { readonly onlyDead?: boolean } = {},
  ): Promise<void> {
    if (!this.#presence.isAway) await this.#outbox?.takeEarlier(writes, onlyDead);
  }

  /** Writes an item, or keeps it if the server does not answer: written twice, it is the same as once. */
  async #writeOrKeep<Item extends JsonObject, Outcome>(
    outbox: ServerOutbox,
    write: GroupWrite<Item, Outcome>,
    item: Item,
  ): Promise<Outcome | undefined> {
    if (!this.#presence.isAway) {
      try {
        return await within(KEEP_AFTER_MS, this.#writer.write(write, item));
      } catch (error) {
        if (!(error instanceof DatabaseError) || !error.isPassing) throw error;
      }
    }
    try {
      await outbox.keepItem(write, item);
      return undefined;
    } catch { // told to `onFault`
      return await this.#writer.write(write, item);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    await this.#writer.idle();
    await this.#outbox?.close();
    await this.#lastWrite.catch(() => {});
    this.#client.close();
    this.#patientClient?.client.close();
  }

  #patient(patienceMs: number): Client {
    if (this.#patientClient?.patienceMs !== patienceMs) {
      this.#patientClient?.client.close();
      this.#patientClient = { patienceMs, client: this.#connect(patienceMs) };
    }
    return this.#patientClient.client;
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#lastWrite.then(work, work);
    this.#lastWrite = mine.catch(() => {});
    return mine;
  }

  async #mustBeDurable(): Promise<void> {
    const { synchronous } = (await this.all(IS_DURABLE))[0]!;
    if (!this.#durable || Number(synchronous) >= DURABLE) return;
    throw new DatabaseError(
      "SLUICE_NOT_DURABLE",
      `it does not wait for the disk (pragma synchronous is ${synchronous} and must be ${DURABLE}), so that ` +
        `charges would be lost with its power; set its durability_mode to "strong" (docs/operating.md says ` +
        `how), or accept the loss by "durability": "normal"`,
    );
  }

  async #try<T>(work: () => Promise<T>): Promise<T> {
    const asked = this.#presence.ask();
    try {
      const result = await work();
      asked.answered();
      return result;
    } catch (error) {
      const code = (error as { code?: unknown }).code;
      const said = typeof code === "string" && code.startsWith("SQLITE_");
      if (said) asked.answered();
      else asked.failed(error);
      throw sqliteError(
        typeof code === "string" ? code : "SLUICE_SERVER",
        error instanceof Error ? error.message : String(error),
        { cause: error, outcomeUnknown: !said },
      );
    }
  }
}

/**
 * The platform's `fetch` with a deadline, sending nothing twice: Deno 2.9 repeats a request whose pooled
 * connection dies, unless its body is a stream.
 */
function patient(patienceMs: number): (request: Request) => Promise<Response> {
  return ({ url, method, headers, body }) =>
    fetch(url, {
      method,
      headers,
      body: body?.pipeThrough(new TransformStream()) ?? null,
      signal: AbortSignal.timeout(patienceMs),
    });
}

function toRows(result: ResultSet): Row[] {
  return result.rows.map((row) =>
    Object.fromEntries(result.columns.map((column, index) => [column, row[index] ?? null]))
  );
}
