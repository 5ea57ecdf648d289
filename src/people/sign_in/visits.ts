import type { Database } from "../../ground/database/mod.ts";
import { digestOf } from "../accounts/mod.ts";
import { type Challenge, challengeOf } from "./challenge.ts";

/** How long somebody may take at a provider. */
const VISIT_MS = 600_000;
/** Visits that are kept: beyond that, the oldest ones are given up. */
const MAX_VISITS = 10_000;

/** A browser that was sent to a provider, and is back. */
export interface Visit {
  readonly challenge: Challenge;
  /** The account that the identity is to be linked to, if that was asked for. */
  readonly accountId: string | undefined;
}

/**
 * Remembers browsers that were sent to a provider: each comes back once, within ten minutes, with what only it has. The challenge is made
 * of that, so that neither the database nor a backup of it has a secret of a sign-in.
 */
export class Visits {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * Notes that a browser is sent to a provider.
   *
   * @param challenge Its secret is what the browser has to keep.
   * @param accountId The account that the identity is to be linked to.
   */
  async begin(
    provider: string,
    { secret }: Pick<Challenge, "secret">,
    accountId?: string,
  ): Promise<void> {
    const now = this.#now();
    await this.#database.batch([
      { sql: "delete from provider_visits where expires_at_ms <= ?", args: [now] },
      {
        sql: `delete from provider_visits where digest in (
          select digest from provider_visits order by expires_at_ms desc limit -1 offset ?)`,
        args: [MAX_VISITS - 1],
      },
      {
        sql: `insert into provider_visits (digest, provider, account_id, expires_at_ms)
          values (?, ?, ?, ?)`,
        args: [digestOf(secret), provider, accountId ?? null, now + VISIT_MS],
      },
    ]);
  }

  /**
   * Ends a visit.
   *
   * @param state That the provider sent.
   * @param secret That the browser has kept.
   * @returns `undefined` if there is none, or it was to another provider, by another browser or too long ago.
   */
  async end(provider: string, state: string, secret: string): Promise<Visit | undefined> {
    const challenge = challengeOf(secret);
    if (challenge.state !== state) return undefined;
    // one statement: of two requests with the same state, one is back
    const [found] = await this.#database.batch([{
      sql: `delete from provider_visits where digest = ? and provider = ?
        returning account_id, expires_at_ms`,
      args: [digestOf(secret), provider],
    }]);
    const [row] = found!;
    if (row === undefined || Number(row.expires_at_ms) <= this.#now()) return undefined;
    return { challenge, accountId: row.account_id === null ? undefined : String(row.account_id) };
  }
}
