import type { Database } from "../database/mod.ts";
import { randomText } from "../ids.ts";
import { type Account, AccountError, readAccount } from "./accounts.ts";
import { digestOf } from "./keys.ts";

/** 57 characters to choose from: 186 bits. */
const TOKEN_LENGTH = 32;
const SESSION_MS = 30 * 86_400_000;
/** How long a session that a link began may replace the password without the one before. */
const LINK_SESSION_MS = 3_600_000;
const LINK_MS = 24 * 3_600_000;

/** Somebody who is signed in. */
export interface Session {
  readonly account: Account;
  /** Ties forms to this session. */
  readonly csrfToken: string;
  /** Whether a sign-in link began it just now: then a forgotten password can be replaced. */
  readonly byLink: boolean;
}

/** Sessions of the console, and links that begin one. Only digests of their tokens are kept. */
export class Sessions {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * Begins a session and ends the one from before.
   *
   * @returns the new session's token; it is worth nothing if the account was disabled meanwhile.
   */
  async begin(
    account: Account,
    { before = "", byLink = false }: { before?: string | undefined; byLink?: boolean } = {},
  ): Promise<string> {
    const token = randomText(TOKEN_LENGTH);
    const now = this.#now();
    await this.#database.batch([
      { sql: "delete from sessions where expires_at_ms <= ?", args: [now] },
      { sql: "delete from sessions where digest = ?", args: [digestOf(before)] },
      {
        sql: `insert into sessions (digest, account_id, by_link, created_at_ms, expires_at_ms)
          select ?, id, ?, ?, ? from accounts where id = ? and disabled_at_ms is null`,
        args: [digestOf(token), byLink ? 1 : 0, now, now + SESSION_MS, account.id],
      },
    ]);
    return token;
  }

  /** Whose token it is, while the session lasts and the account is not disabled. */
  async find(token: string): Promise<Session | undefined> {
    const row = await this.#database.one(
      `select accounts.*, by_link, sessions.created_at_ms as begun_at_ms from sessions join accounts on accounts.id = account_id
        where digest = ? and expires_at_ms > ? and disabled_at_ms is null`,
      [digestOf(token), this.#now()],
    );
    return row === undefined ? undefined : {
      account: readAccount(row),
      csrfToken: digestOf(`csrf ${token}`),
      byLink: row.by_link === 1 && Number(row.begun_at_ms) > this.#now() - LINK_SESSION_MS,
    };
  }

  /** Ends one session. */
  async end(token: string): Promise<void> {
    await this.#database.batch([
      { sql: "delete from sessions where digest = ?", args: [digestOf(token)] },
    ]);
  }

  /** Ends every session and link of an account, but for the one of `except`. Answers how many. */
  async endAll(account: Account, except = ""): Promise<number> {
    const sql = "from sessions where account_id = ? and digest <> ?";
    const args = [account.id, digestOf(except)];
    const row = await this.#database.one(`select count(*) as n ${sql}`, args);
    await this.#database.batch([
      { sql: `delete ${sql}`, args },
      { sql: "delete from sign_in_links where account_id = ?", args: [account.id] },
    ]);
    return Number(row!.n);
  }

  /**
   * Makes a link that signs the account in once, within a day.
   *
   * @returns its token.
   * @throws {AccountError} for a disabled account.
   */
  async makeLink(account: Account): Promise<string> {
    const token = randomText(TOKEN_LENGTH);
    const now = this.#now();
    const [, made] = await this.#database.batch([
      { sql: "delete from sign_in_links where expires_at_ms <= ?", args: [now] },
      {
        sql: `insert into sign_in_links (digest, account_id, expires_at_ms)
          select ?, id, ? from accounts where id = ? and disabled_at_ms is null returning digest`,
        args: [digestOf(token), now + LINK_MS, account.id],
      },
    ]);
    if (made!.length === 0) {
      throw new AccountError(`Cannot create a sign-in link: account ${account.email} is disabled`);
    }
    return token;
  }

  /** Whose link it is; nobody's the second time. */
  async useLink(token: string): Promise<Account | undefined> {
    // one statement: of two who use a link at once, one finds it
    const [found] = await this.#database.batch([{
      sql: "delete from sign_in_links where digest = ? returning account_id, expires_at_ms",
      args: [digestOf(token)],
    }]);
    const [link] = found!;
    if (link === undefined || Number(link.expires_at_ms) <= this.#now()) return undefined;
    const row = await this.#database.one(
      "select * from accounts where id = ? and disabled_at_ms is null",
      [link.account_id!],
    );
    return row === undefined ? undefined : readAccount(row);
  }
}
