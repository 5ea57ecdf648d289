import { type Database, readTogether } from "../../ground/database/mod.ts";
import { MINUTE_MS } from "../../ground/time.ts";
import { creditsReading } from "../../money/ledger/mod.ts";

/** Accounts that are remembered; of more, the one that was read first is forgotten. */
const MAX_ACCOUNTS = 10_000;

/** What was granted to accounts in the lots that have something left: the whole of which a balance is the rest. */
export class Granted {
  readonly #database: Database;
  readonly #now: () => number;
  readonly #known = new Map<string, { credits: number | undefined; readonly atMs: number }>();

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * What was granted to an account, as it was read last. Reads it at most once a minute, and no request waits for that.
   *
   * @returns Credits; undefined if they are not known yet.
   */
  of(accountId: string): number | undefined {
    const known = this.#known.get(accountId);
    const nowMs = this.#now();
    if (known === undefined || nowMs - known.atMs >= MINUTE_MS) {
      this.#known.delete(accountId);
      if (this.#known.size >= MAX_ACCOUNTS) {
        this.#known.delete(this.#known.keys().next().value!);
      }
      const next = { credits: known?.credits, atMs: nowMs };
      this.#known.set(accountId, next);
      this.read(accountId).then((credits) => next.credits = credits, () => {}); // it is tried again in a minute
    }
    return known?.credits;
  }

  /** Reads it now. */
  async read(accountId: string): Promise<number> {
    const { credits } = await readTogether(this.#database, { credits: creditsReading(accountId) });
    return credits.lots.reduce((sum, { granted }) => sum + granted, 0);
  }
}
