import type { HttpClient, RowsResult, Stmt, Stream } from "@libsql/hrana-client";
import { DatabaseError, type Row, type Statement, type Value } from "../database.ts";
import type { UseOptions } from "../engine.ts";
import { within } from "../../platform/mod.ts";
import { render } from "../../sql/mod.ts";
import { delay } from "../../std/mod.ts";
import { sqliteError } from "../sqlite/failures.ts";
import { Streams } from "./streams.ts";
import { PATIENCE_MS, type Transport } from "./transport.ts";

/** How a libSQL server is used. */
export interface LibsqlOptions extends Omit<UseOptions, "observe"> {
  readonly url: string;
  readonly token: string | undefined;
  /** How long an answer is waited for. */
  readonly patienceMs?: number;
}

type Hrana = typeof import("@libsql/hrana-client");

interface Connection {
  readonly client: HttpClient;
  readonly streams: Streams;
}

/** How long the ends of streams are waited for. */
const CLOSE_MS = 500;

/** What SQLite calls `full`: a commit waits for the disk. */
const DURABLE = 2;
const IS_DURABLE = "pragma synchronous";
/** Fails, and its transaction with it, where that is not so. */
const MUST_BE_DURABLE: Statement = {
  sql: `select case when synchronous < ${DURABLE} then abs(-9223372036854775807 - 1) end
    from pragma_synchronous`,
};

/**
 * A libSQL server.
 *
 * One write at a time: sqld 0.24.32 stops answering writes for good when eight or more write
 * batches are in flight.
 *
 * As shipped, sqld does not wait for the disk (`durability_mode` "relaxed"), and it may be so again
 * after a restart. Only the server can say how it is, so each write asks it in its own transaction.
 */
export class LibsqlTransport implements Transport {
  readonly place: string;
  readonly dialect = "sqlite";
  readonly #hrana: Hrana;
  readonly #options: LibsqlOptions;
  /** By how long an answer is waited for: some reads may take longer. */
  readonly #connections = new Map<number, Connection>();
  readonly #calls = new Calls();
  readonly #patienceMs: number;
  readonly #durable: boolean;
  #lastWrite: Promise<unknown> = Promise.resolve();

  private constructor(hrana: Hrana, options: LibsqlOptions) {
    this.#hrana = hrana;
    this.#options = options;
    this.#patienceMs = options.patienceMs ?? PATIENCE_MS;
    this.place = new URL(options.url).host;
    this.#durable = options.durability === "full";
  }

  /** Connects to the server and makes sure that it answers, and that it is as durable as it should be. */
  static async connect(options: LibsqlOptions): Promise<LibsqlTransport> {
    const transport = new LibsqlTransport(await import("@libsql/hrana-client"), options);
    try {
      await transport.#mustBeDurable();
    } catch (cause) {
      await transport.close();
      const { code, message, outcomeUnknown } = cause as DatabaseError;
      throw sqliteError(
        code,
        `Cannot use the libSQL server ${transport.place}: ${message}`,
        { cause, outcomeUnknown },
      );
    }
    return transport;
  }

  async read(sql: string, args: readonly Value[], patienceMs?: number): Promise<Row[]> {
    const { streams } = this.#connected(patienceMs ?? this.#patienceMs);
    const ask = (stream: Stream) => stream.query(this.#toStmt({ sql, args }));
    return toRows(await sent(() => streams.use(ask)));
  }

  async commit(statements: readonly Statement[]): Promise<Row[][]> {
    const asked = this.#durable ? [MUST_BE_DURABLE, ...statements] : statements;
    try {
      const { streams } = this.#connected(this.#patienceMs);
      const commit = (stream: Stream) => this.#transaction(stream, asked);
      const results = await this.#alone(() => sent(() => streams.use(commit)));
      return results.slice(asked.length - statements.length).map(toRows);
    } catch (error) {
      if (/integer overflow/.test(String(error))) await this.#mustBeDurable();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#lastWrite.catch(() => {});
    for (const { client } of this.#connections.values()) client.close();
    await this.#calls.end();
  }

  #connected(patienceMs: number): Connection {
    const known = this.#connections.get(patienceMs);
    if (known !== undefined) return known;
    const { url, token } = this.#options;
    const { hranaHttpUrl, authToken } = this.#hrana.parseLibsqlUrl(url);
    const send = (request: Request) => this.#calls.fetch(request, patienceMs);
    const client = this.#hrana.openHttp(hranaHttpUrl!, token ?? authToken, send);
    client.intMode = "number";
    const made = { client, streams: new Streams(client) };
    this.#connections.set(patienceMs, made);
    return made;
  }

  #toStmt({ sql, args = [] }: Statement): Stmt {
    return new this.#hrana.Stmt(render(sql, "sqlite")).bindIndexes([...args]);
  }

  /** Commits statements, or none of them: each is run only if the one before it was. */
  async #transaction(stream: Stream, statements: readonly Statement[]): Promise<RowsResult[]> {
    const { BatchCond } = this.#hrana;
    const batch = stream.batch();
    let last = batch.step();
    const begun = last.run("begin immediate");
    const results = statements.map((statement) => {
      last = batch.step().condition(BatchCond.ok(last));
      return last.query(this.#toStmt(statement));
    });
    const commit = batch.step().condition(BatchCond.ok(last));
    const committed = commit.run("commit");
    batch.step().condition(BatchCond.not(BatchCond.ok(commit))).run("rollback").catch(() => {});
    const done = Promise.all([begun, ...results, committed]); // fails as the first of them that does
    done.catch(() => {});
    await batch.execute();
    const [, ...rows] = await done;
    return rows.slice(0, -1) as RowsResult[];
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#lastWrite.then(work, work);
    this.#lastWrite = mine.catch(() => {});
    return mine;
  }

  async #mustBeDurable(): Promise<void> {
    const { synchronous } = (await this.read(IS_DURABLE, []))[0]!;
    if (!this.#durable || Number(synchronous) >= DURABLE) return;
    throw new DatabaseError(
      "SLUICE_NOT_DURABLE",
      `it does not wait for the disk (pragma synchronous is ${synchronous} and must be ${DURABLE}), so that ` +
        `charges would be lost with its power; set its durability_mode to "strong" (docs/operating.md says ` +
        `how), or accept the loss by "durability": "normal"`,
    );
  }
}

async function sent<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    throw sqliteError(
      typeof code === "string" ? code : "SLUICE_SERVER",
      error instanceof Error ? error.message : String(error),
      { cause: error, outcomeUnknown: !(typeof code === "string" && code.startsWith("SQLITE_")) },
    );
  }
}

/** Calls of a server, each with a deadline. */
class Calls {
  readonly #open = new Map<AbortController, Promise<Response>>();

  /**
   * Fetches a reply, whole, sending nothing twice: Deno 2.9 repeats a request whose pooled connection dies, unless its body is a
   * stream.
   */
  fetch({ url, method, headers, body }: Request, patienceMs: number): Promise<Response> {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(timedOut()), patienceMs);
    const request = {
      method,
      headers,
      body: body?.pipeThrough(new TransformStream()) ?? null,
      signal: controller.signal,
    };
    const reply = (async () => {
      try {
        const response = await fetch(url, request);
        return new Response(await response.arrayBuffer(), response);
      } finally {
        clearTimeout(timer);
        this.#open.delete(controller);
      }
    })();
    this.#open.set(controller, reply);
    return reply;
  }

  /** Waits a little for those that are open, and ends them. */
  async end(): Promise<void> {
    await delay(0); // the client sends the ends of its streams in the next turn
    await within(CLOSE_MS, Promise.allSettled(this.#open.values()), () => {});
    const open = [...this.#open];
    for (const [controller] of open) controller.abort(timedOut());
    await Promise.allSettled(open.map(([, reply]) => reply));
  }
}

function timedOut(): DOMException {
  return new DOMException("Signal timed out.", "TimeoutError");
}

function toRows({ columnNames, rows }: RowsResult): Row[] {
  // with `intMode` and no blobs, there are only numbers, texts and nulls
  return rows.map((row) =>
    Object.fromEntries(columnNames.map((name, at) => [name ?? "", row[at] as Value ?? null]))
  );
}
