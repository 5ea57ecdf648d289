import { DatabaseError, type Row, type Statement, type Value } from "../database.ts";
import type { UseOptions } from "../engine.ts";
import { render } from "../../sql/mod.ts";
import { sqliteError } from "../sqlite/failures.ts";
import { PATIENCE_MS, type Transport } from "./transport.ts";

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

/** How a libSQL server is used. */
export interface LibsqlOptions extends Omit<UseOptions, "observe"> {
  readonly url: string;
  readonly token: string | undefined;
  /** How long an answer is waited for. */
  readonly patienceMs?: number;
}

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
  readonly #client: Client;
  readonly #connect: (patienceMs: number) => Client;
  /** For reads that may take longer. */
  #patientClient: { readonly patienceMs: number; readonly client: Client } | undefined;
  readonly #durable: boolean;
  #lastWrite: Promise<unknown> = Promise.resolve();

  private constructor(
    connect: (patienceMs: number) => Client,
    { url, durability, patienceMs = PATIENCE_MS }: LibsqlOptions,
  ) {
    this.#connect = connect;
    this.#client = connect(patienceMs);
    this.place = new URL(url).host;
    this.#durable = durability === "full";
  }

  /** Connects to the server and makes sure that it answers, and that it is as durable as it should be. */
  static async connect(options: LibsqlOptions): Promise<LibsqlTransport> {
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
    const transport = new LibsqlTransport(client, options);
    try {
      await transport.#mustBeDurable();
    } catch (cause) {
      transport.#client.close();
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
    const client = patienceMs === undefined ? this.#client : this.#patient(patienceMs);
    return toRows(
      await sent(() => client.execute({ sql: render(sql, "sqlite"), args: [...args] })),
    );
  }

  async commit(statements: readonly Statement[]): Promise<Row[][]> {
    const asked = this.#durable ? [MUST_BE_DURABLE, ...statements] : statements;
    try {
      const results = await this.#alone(() =>
        sent(() =>
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

  async close(): Promise<void> {
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
