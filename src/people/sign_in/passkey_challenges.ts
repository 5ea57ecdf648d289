import type { Database } from "../../ground/database/mod.ts";
import { randomText } from "../../ground/platform/mod.ts";
import { digestOf } from "../accounts/mod.ts";

/** How long somebody may take to use a passkey. */
export const CHALLENGE_MS = 300_000;
/** Challenges that are kept: beyond that, the oldest ones are given up. */
const MAX_CHALLENGES = 10_000;
/** Whole bytes as base64url, so that what comes back is the same text. */
const CHALLENGE_CHARS = 44;
const BROWSER_CHARS = 32;
const BROWSER = new RegExp(`^[A-Za-z0-9]{${BROWSER_CHARS}}$`);

/** What a passkey is asked to sign: each counts once, within five minutes, for the browser and the purpose that it was made for. */
export class PasskeyChallenges {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * Makes a challenge.
   *
   * @param browser What the browser has kept of an earlier one: its other windows go on with that.
   * @param accountId The account that a passkey is to be added to; without it, the challenge is for signing in.
   * @returns The challenge, as base64url, and what the browser has to keep.
   */
  async begin(
    browser: string | undefined,
    accountId?: string,
  ): Promise<{ readonly challenge: string; readonly browser: string }> {
    const kept = browser !== undefined && BROWSER.test(browser)
      ? browser
      : randomText(BROWSER_CHARS);
    const challenge = randomText(CHALLENGE_CHARS);
    const now = this.#now();
    await this.#database.batch([
      { sql: "delete from passkey_challenges where expires_at_ms <= ?", args: [now] },
      {
        sql: `delete from passkey_challenges where digest in (
          select digest from passkey_challenges order by expires_at_ms desc limit -1 offset ?)`,
        args: [MAX_CHALLENGES - 1],
      },
      {
        sql: `insert into passkey_challenges (digest, browser, account_id, expires_at_ms)
          values (?, ?, ?, ?)`,
        args: [digestOf(challenge), digestOf(kept), accountId ?? null, now + CHALLENGE_MS],
      },
    ]);
    return { challenge, browser: kept };
  }

  /**
   * Uses up a challenge.
   *
   * @returns Whether there was one, made for this browser and purpose within the last five minutes.
   */
  async end(challenge: string, browser: string, accountId?: string): Promise<boolean> {
    // one statement: of two that sign the same, one is in time
    const [found] = await this.#database.batch([{
      sql: `delete from passkey_challenges
        where digest = ? and browser = ? and account_id is ? returning expires_at_ms`,
      args: [digestOf(challenge), digestOf(browser), accountId ?? null],
    }]);
    const [row] = found!;
    return row !== undefined && Number(row.expires_at_ms) > this.#now();
  }
}
