import { CLOCK_MS, type Database } from "../../src/ground/database/mod.ts";
import { assert } from "../assert.ts";

/**
 * The clock of a server and of its gateways, as a test wants it: who asks the server for the time is told this one. Leases alone go
 * by the server's own, which nobody asks for.
 */
export class ServerClock {
  #aheadMs: number;
  #asked = 0;

  /** @param aheadMs By how much it is ahead of the real one. */
  constructor(aheadMs = 0) {
    this.#aheadMs = aheadMs;
  }

  /** Milliseconds since 1970. */
  readonly now = (): number => Date.now() + this.#aheadMs;

  /** Lets time pass at once. */
  pass(ms: number): void {
    assert(
      this.#asked > 0,
      "nobody has asked the server for the time: gateways go by another clock",
    );
    this.#aheadMs += ms;
  }

  /** A gateway's database, which is told this clock's time. */
  readonly tell = <Server extends Database>(database: Server): Server =>
    tellingTime(database, (ms) => {
      this.#asked++;
      return ms + this.#aheadMs;
    });
}

/** A database that says another time than its server's, in milliseconds since 1970, to who asks for it. */
export function tellingTime<Server extends Database>(
  database: Server,
  timeOf: (serverMs: number) => number,
): Server {
  return new Proxy(database, {
    get: (server, name) => {
      const value = Reflect.get(server, name, server);
      if (typeof value !== "function") return value;
      if (name !== "one") return value.bind(server);
      return async (sql: string, args?: Parameters<Database["one"]>[1]) => {
        const row = await server.one(sql, args);
        if (!sql.startsWith(`select ${CLOCK_MS}`) || row === undefined) return row;
        return { ms: timeOf(Number(row.ms)) };
      };
    },
  });
}
