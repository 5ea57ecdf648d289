import type { Database } from "../../ground/database/mod.ts";
import { MINUTE_MS } from "../../ground/time.ts";
import { digestOf } from "../../ground/platform/mod.ts";

/** What waits to be used: in which table, what it is bound to there, and for how long. */
const KINDS = {
  /** A browser that was sent to a provider; bound to the provider's name. */
  visit: { table: "provider_visits", bound: "provider", forMs: 10 * MINUTE_MS },
  /** What a passkey is asked to sign; bound to the browser that asked. */
  challenge: { table: "passkey_challenges", bound: "browser", forMs: 5 * MINUTE_MS },
} as const;

/** How long a passkey may take to sign. */
export const CHALLENGE_MS = KINDS.challenge.forMs;
/** Those of a kind that are kept: beyond that, the oldest ones are given up. */
const MAX_WAITING = 10_000;

/**
 * Secrets that count once, within some minutes, for what they are bound to. Only digests are stored, so that neither the database nor a
 * backup of it has a secret of a sign-in.
 */
export class SingleUses {
  readonly #database: Database;
  readonly #kind: (typeof KINDS)[keyof typeof KINDS];
  readonly #now: () => number;

  constructor(
    { database, kind, now }: {
      readonly database: Database;
      readonly kind: keyof typeof KINDS;
      readonly now: () => number;
    },
  ) {
    this.#database = database;
    this.#kind = KINDS[kind];
    this.#now = now;
  }

  /**
   * Has a secret wait.
   *
   * @param boundTo Where alone it counts.
   * @param accountId The account that something is to be added to; without it, the secret is for signing in.
   */
  async begin(secret: string, boundTo: string, accountId?: string): Promise<void> {
    const { table, bound, forMs } = this.#kind;
    const now = this.#now();
    await this.#database.batch([
      { sql: `delete from ${table} where expires_at_ms <= ?`, args: [now] },
      {
        sql: `delete from ${table} where digest in (
          select digest from ${table} order by expires_at_ms desc limit 1000000000 offset ?)`,
        args: [MAX_WAITING - 1],
      },
      {
        sql: `insert into ${table} (digest, ${bound}, account_id, expires_at_ms)
          values (?, ?, ?, ?)`,
        args: [digestOf(secret), boundTo, accountId ?? null, now + forMs],
      },
    ]);
  }

  /**
   * Uses up a secret.
   *
   * @returns The account that it was made for, if any; `undefined` if none waits, or it is bound to something else, or waited too long.
   */
  async end(
    secret: string,
    boundTo: string,
  ): Promise<{ readonly accountId: string | undefined } | undefined> {
    const { table, bound } = this.#kind;
    // one statement: of two that come with the same secret, one is in time
    const [found] = await this.#database.batch([{
      sql: `delete from ${table} where digest = ? and ${bound} = ?
        returning account_id, expires_at_ms`,
      args: [digestOf(secret), boundTo],
    }]);
    const [row] = found!;
    if (row === undefined || Number(row.expires_at_ms) <= this.#now()) return undefined;
    return { accountId: row.account_id === null ? undefined : String(row.account_id) };
  }
}
