import * as z from "zod";
import type { Database, Statement } from "../../ground/database/mod.ts";
import { randomText } from "../../ground/platform/mod.ts";
import { type Account, AccountError, readAccount } from "./account.ts";
import { digestOf } from "./key.ts";
import { TEAM_ROLES, type TeamRole } from "./roles.ts";

/** 32 of 57 characters: 186 bits. */
const TOKEN_LENGTH = 32;
const SESSION_MS = 30 * 86_400_000;
/** How long a session started by a link may replace the password without the current one. */
const LINK_SESSION_MS = 3_600_000;
const LINK_MS = 24 * 3_600_000;

const teamRoles = z.record(z.string(), z.enum(TEAM_ROLES));

/** A console session. */
export interface Session {
  readonly account: Account;
  /** Roles of the account in teams, by team ID, without teams where it has been stopped. */
  readonly teams: ReadonlyMap<string, TeamRole>;
  /** Token that every form of this session must carry. */
  readonly csrfToken: string;
  /** Whether a sign-in link started the session within the last hour: a forgotten password can be replaced. */
  readonly byLink: boolean;
}

/** Manages console sessions and sign-in links. Only digests of their tokens are stored. */
export class Sessions {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * Starts a session of 30 days, and ends the previous one.
   *
   * @param account The account that signed in.
   * @param options Token of the session to end, and whether a sign-in link was used.
   * @returns The new session's token. It is invalid if the account was disabled meanwhile.
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
          select ?, id, ?, ?, ? from accounts
          where id = ? and disabled_at_ms is null and kind = 'person'`,
        args: [digestOf(token), byLink ? 1 : 0, now, now + SESSION_MS, account.id],
      },
    ]);
    return token;
  }

  /**
   * Finds a session.
   *
   * @param token The session's token.
   * @returns The session, or `undefined` if it has ended or its account is disabled.
   */
  async find(token: string): Promise<Session | undefined> {
    return (await this.findAll([token])).get(token);
  }

  /**
   * Finds several sessions at once.
   *
   * @param tokens Tokens of sessions.
   * @returns Those that go on, by token; without those whose account is disabled.
   */
  async findAll(tokens: readonly string[]): Promise<ReadonlyMap<string, Session>> {
    const byDigest = new Map(tokens.map((token) => [digestOf(token), token]));
    const rows = await this.#database.all(
      `select accounts.*, digest, by_link, sessions.created_at_ms as begun_at_ms, (
          select json_group_object(team_id, role) from team_members
          where account_id = accounts.id and stopped_at_ms is null
        ) as teams
        from sessions join accounts on accounts.id = account_id
        where kind = 'person' and digest in (select value from json_each(?))
          and expires_at_ms > ? and disabled_at_ms is null`,
      [JSON.stringify([...byDigest.keys()]), this.#now()],
    );
    return new Map(rows.map((row) => {
      const token = byDigest.get(String(row.digest))!;
      return [token, {
        account: readAccount(row),
        teams: new Map(Object.entries(teamRoles.parse(JSON.parse(String(row.teams))))),
        csrfToken: digestOf(`csrf ${token}`),
        byLink: row.by_link === 1 && Number(row.begun_at_ms) > this.#now() - LINK_SESSION_MS,
      }];
    }));
  }

  /** Ends a session. Does nothing if the token is unknown. */
  async end(token: string): Promise<void> {
    await this.#database.batch([
      { sql: "delete from sessions where digest = ?", args: [digestOf(token)] },
    ]);
  }

  /**
   * Ends all sessions and sign-in links of an account.
   *
   * @param account The account.
   * @param options Token of a session to keep, and statements for the same transaction.
   */
  async endAll(
    { id }: Pick<Account, "id">,
    { except = "", also = [] }: {
      readonly except?: string | undefined;
      readonly also?: readonly Statement[];
    } = {},
  ): Promise<void> {
    await this.#database.batch([
      {
        sql: "delete from sessions where account_id = ? and digest <> ?",
        args: [id, digestOf(except)],
      },
      { sql: "delete from sign_in_links where account_id = ?", args: [id] },
      ...also,
    ]);
  }

  /**
   * Creates a link that signs the account in once, within a day.
   *
   * @param account The account.
   * @param token The link's token. Default: a random one.
   * @returns The link's token.
   * @throws {AccountError} If the account is disabled or not a person's.
   */
  async makeLink(account: Account, token = randomText(TOKEN_LENGTH)): Promise<string> {
    const now = this.#now();
    const [, made] = await this.#database.batch([
      { sql: "delete from sign_in_links where expires_at_ms <= ?", args: [now] },
      {
        sql: `insert into sign_in_links (digest, account_id, expires_at_ms)
          select ?, id, ? from accounts
          where id = ? and disabled_at_ms is null and kind = 'person' returning digest`,
        args: [digestOf(token), now + LINK_MS, account.id],
      },
    ]);
    if (made!.length === 0) {
      throw new AccountError(
        account.kind === "person"
          ? `Cannot create a sign-in link: account ${account.email} is disabled`
          : `Cannot create a sign-in link: ${account.email} is not a person`,
        { fault: "conflict" },
      );
    }
    return token;
  }

  /**
   * Uses up a sign-in link.
   *
   * @param token The link's token.
   * @returns The account to sign in, or `undefined` if the link is unknown, used or expired.
   */
  async useLink(token: string): Promise<Account | undefined> {
    // one statement: of two concurrent uses of a link, one succeeds
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
