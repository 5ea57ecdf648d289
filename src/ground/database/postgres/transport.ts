import {
  type BatchOptions,
  DatabaseError,
  type Row,
  type Statement,
  type Value,
} from "../database.ts";
import { PATIENCE_MS, type Transport } from "../server/transport.ts";
import { type Client, Connections } from "./connections.ts";
import { isUndone, postgresError } from "./failures.ts";
import type { Place } from "./place.ts";
import { prepared } from "./statement.ts";

/** What a statement of a transaction takes at most, beside the time that any answer may take. */
const EACH_MS = 100;

/** First in transactions of which there is one at a time. */
const ALONE: Statement = { sql: "select pg_advisory_xact_lock(5432001)" };

/** How often what was undone is repeated: more often than there are connections whose prepared statements may be outdated. */
const MAX_ATTEMPTS = 20;

/**
 * PostgreSQL. A transaction is sent in one go; what it decides on is locked by its triggers, so that READ COMMITTED is enough: each of
 * their statements sees what was committed before it began.
 */
export class PostgresTransport implements Transport {
  readonly place: string;
  readonly dialect = "postgres";
  readonly #connections: Connections;

  /** Connects when it is asked for something. */
  constructor(place: Place, durable: boolean) {
    const hosts = place.hosts.map(({ host, port }) => `${host}:${port}`).join(",");
    this.place = `${hosts}/${place.database}`;
    this.#connections = new Connections(place, { patienceMs: PATIENCE_MS, durable });
  }

  /** Connects, so that an address or a password that is wrong, or a host that is not as durable as it should be, is found at once. */
  static async connect(
    place: Place,
    { durable }: { readonly durable: boolean },
  ): Promise<PostgresTransport> {
    const transport = new PostgresTransport(place, durable);
    try {
      await transport.read("select 1 as one", []);
    } catch (cause) {
      await transport.close();
      const { code, kind, message, outcomeUnknown } = cause as DatabaseError;
      throw new DatabaseError(code, `Cannot use PostgreSQL at ${transport.place}: ${message}`, {
        cause,
        kind,
        outcomeUnknown,
      });
    }
    return transport;
  }

  async read(sql: string, args: readonly Value[], patienceMs = PATIENCE_MS): Promise<Row[]> {
    const { name, text, values } = prepared(sql, args);
    return await this.#use(async (client) =>
      (await client.query({ name, text, values, query_timeout: patienceMs })).rows
    );
  }

  commit(
    statements: readonly Statement[],
    { beside = false }: BatchOptions = {},
  ): Promise<Row[][]> {
    return this.#use((client) => commit(client, beside ? statements : [ALONE, ...statements]))
      .then((rows) => beside ? rows : rows.slice(1));
  }

  /** Does all that the work asks of a transport in one transaction, however long that takes. */
  async transaction<T>(work: (inside: Transport) => Promise<T>): Promise<T> {
    return await this.#connections.use(async (client) => {
      const read = async (sql: string, args: readonly Value[] = []) => {
        const { name, text, values } = prepared(sql, args);
        try {
          return (await client.query({ name, text, values })).rows;
        } catch (error) {
          throw postgresError(error);
        }
      };
      await read("begin");
      try {
        await read("set local statement_timeout = 0");
        await read("set local idle_in_transaction_session_timeout = 0");
        const result = await work({
          place: this.place,
          dialect: this.dialect,
          read,
          async commit(statements) {
            const rows: Row[][] = [];
            for (const { sql, args } of statements) rows.push(await read(sql, args));
            return rows;
          },
          close: () => Promise.resolve(),
        });
        await read("commit");
        return result;
      } catch (error) {
        await read("rollback").catch(() => {}); // the connection is lost, and with it the transaction
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  async #use<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const { timeline } = this.#connections;
    for (let attempt = 1;; attempt++) {
      try {
        return await this.#connections.use(work, timeline);
      } catch (error) {
        if (!isUndone(error) || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  }
}

async function commit(client: Client, statements: readonly Statement[]): Promise<Row[][]> {
  // each waits for all before it: the whole schema is made in one
  const patienceMs = PATIENCE_MS + statements.length * EACH_MS;
  // sent without waiting for answers in between: what follows a statement that fails is refused, and the commit undoes all
  const sent: Promise<{ rows: Row[] }>[] = [];
  const send = (query: Parameters<Client["query"]>[0]) => {
    const result = client.query(query);
    result.catch(() => {}); // awaited below
    sent.push(result);
    return result;
  };
  const begun = client.query("begin isolation level read committed");
  begun.catch(() => {});
  let before: ReturnType<typeof send> | undefined;
  for (const { sql, args = [] } of statements) {
    const { name, text, values, asksForChanges } = prepared(sql, args);
    if (text === "") { // one that only other engines need
      sent.push(Promise.resolve({ rows: [] }));
      continue;
    }
    if (asksForChanges) {
      const changed = await before?.then(({ rowCount }) => rowCount ?? 0, () => 0);
      client.query({
        text: "select set_config('sluice.changed', $1, true)",
        values: [`${changed}`],
      })
        .catch(() => {});
    }
    before = send({ name, text, values, query_timeout: patienceMs }) as typeof before;
  }
  const committed = client.query({ text: "commit", query_timeout: patienceMs });
  committed.catch(() => {});
  const results: Row[][] = [];
  let failure: unknown;
  for (const result of [begun, ...sent]) {
    try {
      results.push((await result).rows);
    } catch (error) {
      failure ??= error;
    }
  }
  try {
    const { command } = await committed;
    if (failure === undefined && command !== "COMMIT") {
      failure = new Error("the transaction was undone");
    }
  } catch (error) {
    failure ??= error;
  }
  if (failure !== undefined) throw postgresError(failure);
  return results.slice(1);
}
