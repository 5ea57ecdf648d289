import type { Database } from "./database.ts";
import { CLOCK_MS } from "../sql/mod.ts";

const MEASURE = `select ${CLOCK_MS} as ms`;
/** Of these the one with the shortest round trip is taken. */
const SAMPLES = 3;

/**
 * The clock that everyone who shares a database goes by: a server's. The clocks of gateways may be minutes
 * apart, and then windows and expiries would be counted twice or end early. Of an embedded file it is the
 * process's own clock.
 */
export class DatabaseClock {
  readonly #database: Database;
  readonly #ownNow: () => number;
  readonly #isServer: boolean;
  #offsetMs = 0;

  private constructor(database: Database, ownNow: () => number, isServer: boolean) {
    this.#database = database;
    this.#ownNow = ownNow;
    this.#isServer = isServer;
  }

  /**
   * @param ownNow The process's own clock, in milliseconds since 1970.
   * @param isServer Whether the database has a clock that others go by as well.
   * @throws {DatabaseError} if the server does not reply.
   */
  static async of(
    database: Database,
    { ownNow, isServer }: { readonly ownNow: () => number; readonly isServer: boolean },
  ): Promise<DatabaseClock> {
    const clock = new DatabaseClock(database, ownNow, isServer);
    await clock.sync();
    return clock;
  }

  /** Milliseconds since 1970 by the database's clock, as far as it was last measured. */
  readonly now = (): number => this.#ownNow() + this.#offsetMs;

  /** Measures again how far the process's own clock is off; without effect for an embedded file. */
  async sync(): Promise<void> {
    if (!this.#isServer) return;
    let offsetMs = 0;
    let bestMs = Infinity;
    for (let sample = 0; sample < SAMPLES; sample++) {
      const sentTick = performance.now();
      const row = await this.#database.one(MEASURE);
      const tripMs = performance.now() - sentTick;
      if (tripMs >= bestMs) continue;
      bestMs = tripMs;
      // the server read its clock in the middle of the round trip, give or take half of it
      offsetMs = Math.round(Number(row!.ms) + tripMs / 2 - this.#ownNow());
    }
    // a difference within the precision of the measurement is none: times stay in order
    if (Math.abs(offsetMs - this.#offsetMs) > bestMs / 2) this.#offsetMs = offsetMs;
  }
}
