import {
  type BatchOptions,
  DatabaseError,
  type Row,
  type Statement,
  type Value,
} from "../database.ts";
import { PATIENCE_MS, type Transport } from "../server/transport.ts";
import { ask, type Client, Connections } from "./connections.ts";
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
    const statement = prepared(sql, args);
    return await this.#use(async (client) => (await ask(client, [statement], patienceMs))[0]!);
  }

  async commit(
    statements: readonly Statement[],
    { beside = false, undone = false }: BatchOptions = {},
  ): Promise<Row[][]> {
    const all = beside ? statements : [ALONE, ...statements];
    const sent = all.map(({ sql, args = [] }) => prepared(sql, args));
    // each waits for all before it: the whole schema is made in one
    const patienceMs = PATIENCE_MS + all.length * EACH_MS;
    const rows = await this.#use((client) => {
      const send = () => ask(client, sent, patienceMs);
      return undone ? inBlock(client, "rollback", send) : send();
    });
    return beside ? rows : rows.slice(1);
  }

  /** Does all that the work asks of a transport in one transaction, however long that takes. */
  async transaction<T>(work: (inside: Transport) => Promise<T>): Promise<T> {
    return await this.#connections.use(async (client) => {
      const read = async (sql: string, args: readonly Value[] = []) => {
        try {
          return (await ask(client, [prepared(sql, args)]))[0]!;
        } catch (error) {
          throw postgresError(error);
        }
      };
      return await inBlock(client, "commit", async () => {
        await read("set local statement_timeout = 0");
        await read("set local idle_in_transaction_session_timeout = 0");
        return await work({
          place: this.place,
          dialect: this.dialect,
          read,
          async commit(statements, { undone = false } = {}) {
            if (undone) await read("savepoint before");
            const rows: Row[][] = [];
            for (const { sql, args } of statements) rows.push(await read(sql, args));
            if (undone) await read("rollback to savepoint before");
            return rows;
          },
          close: () => Promise.resolve(),
        });
      });
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

/** Does something in a transaction of several questions. Its commit may take as long as it needs, as nobody could do it again. */
async function inBlock<T>(
  client: Client,
  end: "commit" | "rollback",
  work: () => Promise<T>,
): Promise<T> {
  await ask(client, [{ text: "begin" }], PATIENCE_MS);
  try {
    const result = await work();
    await ask(client, [{ text: end }], end === "rollback" ? PATIENCE_MS : undefined);
    return result;
  } catch (error) {
    // or the connection is lost, and with it the transaction
    await ask(client, [{ text: "rollback" }], PATIENCE_MS).catch(() => {});
    throw error;
  }
}
