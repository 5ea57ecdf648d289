import * as z from "zod";
import { flag, insertOf, rowOf } from "../../ground/row.ts";
import type { Condition, Database, Statement } from "../../ground/database/mod.ts";
import { digestOf, randomText } from "../../ground/platform/mod.ts";
import { endApprovals } from "./access.ts";
import { type Account, conflict, readAccount } from "./account.ts";
import { TEAM_ROLES, type TeamRole } from "./roles.ts";
import { jsonObjectOfRows, least, textsOf } from "../../ground/sql/mod.ts";

/** 32 of 57 characters: 186 bits. */
const TOKEN_LENGTH = 32;
const SESSION_MS = 30 * 86_400_000;
/** How long a session started by a link may replace the password without the current one. */
const LINK_SESSION_MS = 3_600_000;
const LINK_MS = 24 * 3_600_000;
/** How long after a sign-in another way to sign in may be added, which outlives the session. */
const RECENT_MS = 600_000;
const MAX_AGENT_CHARS = 300;
/** Characters of a digest that name a session among those of its account. */
const ID_CHARS = 16;

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
  /** Whether somebody signed in within the last ten minutes, or by a link within the last hour. */
  readonly isRecent: boolean;
}

/** How a session begins. */
export interface SessionStart {
  /** Token of the session that ends. */
  readonly before?: string | undefined;
  /** Whether a sign-in link was used. */
  readonly byLink?: boolean | undefined;
  /** The settings' name of the provider that signed its account in. */
  readonly provider?: string | undefined;
  /** The provider's own session, which may end it. */
  readonly providerSession?: string | undefined;
  /** ID of the passkey that was used: the session ends with it. */
  readonly passkey?: string | undefined;
  /** The client's address. */
  readonly address?: string | undefined;
  /** What its browser calls itself. */
  readonly agent?: string | undefined;
  /** Statements for the same transaction. */
  readonly also?: readonly Statement[] | undefined;
}

const listedSession = rowOf({
  /** The beginning of its token's digest. */
  id: z.string(),
  provider: z.string().nullable(),
  is_by_passkey: flag,
  address: z.string().nullable(),
  agent: z.string().nullable(),
  created_at_ms: z.int(),
  expires_at_ms: z.int(),
  /** Whether it is the one that asks. */
  is_own: flag,
});

/** A session as its account lists it. */
export type ListedSession = z.output<typeof listedSession>;

/** When a session ends that may last for ?2 at most. */
const ENDS_AT_MS = least("expires_at_ms", "created_at_ms + ?2");

/** Manages console sessions and sign-in links. Only digests of their tokens are stored. */
export class Sessions {
  readonly #database: Database;
  readonly #now: () => number;
  readonly #maxMs: number;

  /** @param maxMs How long a session lasts, also one that began when that was longer, in milliseconds. Default: 30 days. */
  constructor(database: Database, now: () => number, maxMs = SESSION_MS) {
    this.#database = database;
    this.#now = now;
    this.#maxMs = maxMs;
  }

  /** The same sessions, each over after this time: that of the settings as they are now, in milliseconds. */
  lasting(maxMs: number | undefined): Sessions {
    return new Sessions(this.#database, this.#now, maxMs);
  }

  /**
   * Starts a session, and ends the previous one.
   *
   * @returns The new session's token. It is invalid if the account was disabled meanwhile.
   */
  async begin(account: Account, options: SessionStart = {}): Promise<string> {
    const { before = "", byLink = false, also = [], agent } = options;
    const { provider, providerSession, passkey, address } = options;
    const token = randomText(TOKEN_LENGTH);
    const now = this.#now();
    await this.#database.batch([
      { sql: "delete from sessions where expires_at_ms <= ?", args: [now] },
      { sql: "delete from sessions where digest = ?", args: [digestOf(before)] },
      insertOf("insert into sessions", {
        digest: digestOf(token),
        accountId: account.id,
        byLink: byLink ? 1 : 0,
        createdAtMs: now,
        expiresAtMs: now + this.#maxMs,
        provider,
        providerSession,
        passkey,
        address,
        agent: agent?.slice(0, MAX_AGENT_CHARS),
      }, { onlyIf: maySignIn(account) }),
      ...also,
    ]);
    return token;
  }

  /**
   * Finds a session.
   *
   * @returns The session, or `undefined` if it has ended or its account is disabled.
   */
  async find(token: string): Promise<Session | undefined> {
    return (await this.findAll([token])).get(token);
  }

  /**
   * Finds several sessions at once.
   *
   * @returns Those that go on, by token; without those whose account is disabled.
   */
  async findAll(tokens: readonly string[]): Promise<ReadonlyMap<string, Session>> {
    const now = this.#now();
    const byDigest = new Map(tokens.map((token) => [digestOf(token), token]));
    const rows = await this.#database.all(
      `select accounts.*, digest, by_link, sessions.created_at_ms as begun_at_ms, (
          select ${jsonObjectOfRows("team_id", "role")} from team_members
          where account_id = accounts.id and stopped_at_ms is null
        ) as teams
        from sessions join accounts on accounts.id = account_id
        where kind = 'person' and digest in ${textsOf()}
          and sessions.created_at_ms > ?
          and expires_at_ms > ? and disabled_at_ms is null`,
      [JSON.stringify([...byDigest.keys()]), now - this.#maxMs, now],
    );
    return new Map(rows.map((row) => {
      const token = byDigest.get(String(row.digest))!;
      const sinceMs = now - Number(row.begun_at_ms);
      const byLink = row.by_link === 1 && sinceMs < LINK_SESSION_MS;
      return [token, {
        account: readAccount(row),
        teams: new Map(Object.entries(teamRoles.parse(JSON.parse(String(row.teams))))),
        csrfToken: digestOf(`csrf ${token}`),
        byLink,
        isRecent: byLink || sinceMs < RECENT_MS,
      }];
    }));
  }

  /** Ends a session. Does nothing if the token is unknown. */
  async end(token: string): Promise<void> {
    await this.#database.batch([
      { sql: "delete from sessions where digest = ?", args: [digestOf(token)] },
    ]);
  }

  /** Lists the sessions of an account that go on, newest first. */
  async list(
    { id }: Pick<Account, "id">,
    { own = "" }: { readonly own?: string | undefined } = {},
  ): Promise<ListedSession[]> {
    const rows = await this.#database.all(
      `select substr(digest, 1, ${ID_CHARS}) as id, provider, passkey is not null as is_by_passkey,
          address, agent, created_at_ms, ${ENDS_AT_MS} as expires_at_ms, digest = ?4 as is_own
        from sessions
        where account_id = ?1 and ${ENDS_AT_MS} > ?3 order by created_at_ms desc, digest`,
      [id, this.#maxMs, this.#now(), digestOf(own)],
    );
    return rows.map((row) => listedSession.parse(row));
  }

  /**
   * Ends a session of an account, by its ID. Does nothing if there is none.
   *
   * @param record Returns the statement of the log; what it is given holds if there is something to end.
   */
  async endOne(
    { id }: Pick<Account, "id">,
    sessionId: string,
    record: (onlyIf: Condition) => Statement,
  ): Promise<void> {
    const those = `from sessions where account_id = ? and substr(digest, 1, ${ID_CHARS}) = ?`;
    const args = [id, sessionId];
    await this.#database.batch([
      record({ sql: `exists (select 1 ${those})`, args }),
      { sql: `delete ${those}`, args },
    ]);
  }

  /**
   * Ends sessions that a provider's own session began.
   *
   * @param accountIds Of those whose sessions end; without `providerSession` all that the provider signed in.
   * @returns How many ended.
   */
  async endOfProvider(
    provider: string,
    { providerSession, accountIds }: {
      readonly providerSession?: string | undefined;
      readonly accountIds?: readonly string[] | undefined;
    },
  ): Promise<number> {
    const [ended] = await this.#database.batch([{
      sql: `delete from sessions where provider = ?
        and (? is null or provider_session = ?)
        and (? is null or account_id in ${textsOf()}) returning digest`,
      args: [
        provider,
        providerSession ?? null,
        providerSession ?? null,
        ...Array(2).fill(accountIds === undefined ? null : JSON.stringify(accountIds)),
      ],
    }]);
    return ended!.length;
  }

  /**
   * Ends all sessions and sign-in links of an account, and what was approved in them that no tool has fetched yet.
   *
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
      ...endApprovals(id),
      ...also,
    ]);
  }

  /**
   * Creates a link that signs the account in once, within a day.
   *
   * @param token The link's token. Default: a random one.
   * @throws {AccountError} If the account is disabled or not a person's.
   */
  async makeLink(account: Account, token = randomText(TOKEN_LENGTH)): Promise<string> {
    const now = this.#now();
    const row = { digest: digestOf(token), accountId: account.id, expiresAtMs: now + LINK_MS };
    const onlyIf = maySignIn(account);
    const [, made] = await this.#database.batch([
      { sql: "delete from sign_in_links where expires_at_ms <= ?", args: [now] },
      insertOf("insert into sign_in_links", row, { onlyIf, then: "returning digest" }),
    ]);
    if (made!.length === 0) {
      throw conflict(
        account.kind === "person"
          ? `Cannot create a sign-in link: account ${account.email} is disabled`
          : `Cannot create a sign-in link: ${account.email} is not a person`,
      );
    }
    return token;
  }

  /**
   * Uses up a sign-in link.
   *
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

/** Holds for the account of a person that is not disabled. */
function maySignIn({ id }: Account): Condition {
  return {
    sql:
      "exists (select 1 from accounts where id = ? and disabled_at_ms is null and kind = 'person')",
    args: [id],
  };
}
