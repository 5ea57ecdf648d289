import * as z from "zod";
import {
  type Condition,
  type Database,
  DatabaseError,
  type Statement,
} from "../../ground/database/mod.ts";
import { insertOf, rowOf } from "../../ground/row.ts";
import type { OidcSettings } from "../../settings/config/mod.ts";
import {
  type Account,
  AccountError,
  type Accounts,
  endProviderAccess,
  hasPassword,
  type Session,
} from "../accounts/mod.ts";
import { Directory } from "../scim/mod.ts";
import type { Identity } from "./identity.ts";
import { checkRecent } from "./recent.ts";
import { SignInError } from "./sign_in_error.ts";
import { disowning } from "./vouchers.ts";

/**
 * Why an identity signs in an account: its owner said so, its domain is claimed, it is in a group that the settings list, or the
 * company's directory has sent it.
 */
type LinkedBy = "hand" | "domain" | "group" | "scim";

const linkRow = rowOf({
  issuer: z.string(),
  subject: z.string(),
  account_id: z.string(),
  provider: z.string(),
  linked_by: z.enum(["hand", "domain", "group", "scim"]),
  linked_at_ms: z.int(),
});

const ownWay = z.enum(["password", "passkey", "hand", "group"]);

/** An identity at a provider that signs in an account. */
export type Link = z.output<typeof linkRow>;

/** Somebody whom a provider has signed in. */
export interface SignedIn {
  readonly account: Account;
  /** What became of the identity. */
  readonly news: "known" | "linked" | "created";
}

/** Finds whose account an identity of a provider signs in. An address is a label: who somebody is, issuer and subject say. */
export class Identities {
  readonly #database: Database;
  readonly #accounts: Accounts;
  readonly #directory: Directory;
  readonly #providers: readonly unknown[];
  readonly #now: () => number;

  /** @param providers Those of the settings: of one alone, subjects may be the IDs by which a directory knows its users. */
  constructor(
    { database, accounts, providers = [], now }: {
      readonly database: Database;
      readonly accounts: Accounts;
      readonly providers?: readonly unknown[];
      readonly now: () => number;
    },
  ) {
    this.#database = database;
    this.#directory = new Directory(database);
    this.#providers = providers;
    this.#accounts = accounts;
    this.#now = now;
  }

  /**
   * Finds the account that an identity signs in; links it to the one that has its address, or makes one, where the settings say so.
   *
   * @param settings Of the identity's provider.
   * @param also Returns statements for the transaction that links or makes an account.
   * @throws {SignInError} If the identity may not sign in.
   */
  async signIn(
    identity: Identity,
    settings: OidcSettings,
    also: (account: Account, news: SignedIn["news"]) => readonly Statement[] = () => [],
  ): Promise<SignedIn> {
    const link = await this.#find(identity);
    const sent = link === undefined ? await this.#sent(identity) : undefined;
    const why = whyAllowed(identity, settings) ??
      (sent !== undefined || await this.#isSent(link?.accountId) ? "scim" : undefined);
    if (link !== undefined) {
      // what was linked by hand needs no group: its owner did it while signed in
      const account = await this.#accounts.byId(link.accountId);
      if (link.linkedBy !== "hand" && why === undefined) {
        await this.#database.batch([
          disowning(link),
          ...endProviderAccess(link, { nowMs: this.#now() }),
        ]);
        throw new SignInError(whyNot(identity, settings), { refused: account });
      }
      if (link.provider !== settings.name) await this.#database.batch([renamed(link, settings)]);
      return { account: usable(account), news: "known" };
    }
    if (sent !== undefined) {
      const { sql, args } = this.#statement(sent.id, identity, { settings, why: "scim" });
      // the same person may come back in two windows
      const links = { sql: `${sql} on conflict do nothing`, args: args! };
      await this.#database.batch([links, ...also(sent, "linked")]);
      const { account } = await this.signIn(identity, settings);
      return { account, news: "linked" };
    }
    if (why === undefined) throw new SignInError(whyNot(identity, settings));
    const { email } = identity;
    if (email === undefined) {
      throw new SignInError(
        `The provider ${settings.name} sent no email address: add the scope "email"`,
      );
    }
    const found = await this.#accounts.find(email);
    try {
      if (found === undefined) return await this.#create(identity, email, { settings, why, also });
      // somebody may wait in it who registered the address, which nobody verifies: only who comes in as before says whose it is
      const isHeld = (await this.ownWays(found)).length > 0 && !await this.#isSent(found.id);
      if (why !== "domain" || isHeld || found.role === "owner" || found.kind !== "person") {
        throw new SignInError(
          `${email} has an account here already: sign in to it as before, and link ${settings.name} ` +
            "on the page Account; if it is not yours, tell an operator",
        );
      }
      usable(found);
      const links = this.#statement(found.id, identity, { settings, why });
      await this.#database.batch([links, ...also(found, "linked")]);
      return { account: found, news: "linked" };
    } catch (error) {
      const isTaken = error instanceof DatabaseError && error.isDuplicate ||
        error instanceof AccountError && error.fault === "conflict";
      // the same person comes back in two windows
      if (isTaken && await this.#find(identity) !== undefined) {
        return await this.signIn(identity, settings, also);
      }
      if (error instanceof AccountError && error.fault === "invalid") {
        throw new SignInError(error.message, { cause: error });
      }
      throw error;
    }
  }

  /**
   * Links an identity to the account of a session, which asks for it.
   *
   * @param record Returns the statement of the log; what it is given holds if the identity is linked.
   * @throws {SignInError} If it signs in another account, or nobody has signed in a short while ago.
   */
  async link(
    session: Pick<Session, "account" | "isRecent">,
    identity: Identity,
    settings: OidcSettings,
    record?: (onlyIf: Condition) => Statement,
  ): Promise<void> {
    checkRecent(session, "link an identity");
    const { account } = session;
    const [linked] = await this.#database.batch([
      this.#statement(account.id, identity, {
        settings,
        why: "hand",
        then:
          `on conflict (issuer, subject) do update set linked_by = 'hand', provider = excluded.provider
            where identities.account_id = excluded.account_id
          returning account_id`,
      }),
      ...(record === undefined ? [] : [record(isLinked(account, identity))]),
    ]);
    if (linked!.length === 0) {
      throw new SignInError(
        `This identity at ${settings.name} signs in another account: unlink it there first`,
      );
    }
  }

  /**
   * Removes what links an identity to an account, and ends the sessions and tools that its provider has signed in there.
   *
   * @param options.except Token of the session that asks, which goes on.
   * @param options.record As for {@linkcode link}.
   */
  async unlink(
    account: Pick<Account, "id">,
    link: Pick<Link, "issuer" | "subject">,
    { except, record }: {
      readonly except?: string | undefined;
      readonly record?: (onlyIf: Condition) => Statement;
    } = {},
  ): Promise<void> {
    const known = await this.#find(link);
    if (known?.accountId !== account.id) return;
    await this.#database.batch([
      ...(record === undefined ? [] : [record(isLinked(account, link))]),
      {
        sql: "delete from identities where account_id = ? and issuer = ? and subject = ?",
        args: [account.id, link.issuer, link.subject],
      },
      ...endProviderAccess(known, { except, nowMs: this.#now() }),
    ]);
  }

  /** By what somebody comes in to an account besides what a claimed domain or a directory vouches for. */
  async ownWays({ id }: Pick<Account, "id">): Promise<z.output<typeof ownWay>[]> {
    const password = hasPassword(id);
    const rows = await this.#database.all(
      `select 'password' as way where ${password.sql}
        union select 'passkey' from passkeys where account_id = ?
        union select linked_by from identities where account_id = ? and linked_by in ('hand', 'group')`,
      [...password.args, id, id],
    );
    return rows.map(({ way }) => ownWay.parse(way));
  }

  /** Finds the account that an identity signs in, by issuer and subject. */
  async accountOf(issuer: string, subject: string): Promise<string | undefined> {
    return (await this.#find({ issuer, subject }))?.accountId;
  }

  /** The identities that sign in an account, oldest first. */
  async list({ id }: Pick<Account, "id">): Promise<Link[]> {
    const rows = await this.#database.all(
      "select * from identities where account_id = ? order by linked_at_ms, issuer, subject",
      [id],
    );
    return rows.map((row) => linkRow.parse(row));
  }

  async #find(
    { issuer, subject }: Pick<Identity, "issuer" | "subject">,
  ): Promise<Link | undefined> {
    const row = await this.#database.one(
      "select * from identities where issuer = ? and subject = ?",
      [issuer, subject],
    );
    return row === undefined ? undefined : linkRow.parse(row);
  }

  /**
   * The account of the user whom a directory knows by the identity's subject. Where several providers sign people in, one could name the
   * other's people.
   */
  async #sent({ subject }: Identity): Promise<Account | undefined> {
    if (this.#providers.length !== 1) return undefined;
    const accountId = await this.#directory.accountOf(subject);
    const account = accountId === undefined ? undefined : await this.#accounts.byId(accountId);
    // an owner links identities by hand
    return account === undefined || account.role === "owner" ? undefined : usable(account);
  }

  /** Whether a directory has sent the user of an account, and not deleted it. */
  async #isSent(accountId: string | undefined): Promise<boolean> {
    return accountId !== undefined &&
      (await this.#directory.userOf(accountId))?.deletedAtMs === null;
  }

  async #create(
    identity: Identity,
    email: string,
    { settings, why, also }: {
      readonly settings: OidcSettings;
      readonly why: LinkedBy;
      readonly also: (account: Account, news: SignedIn["news"]) => readonly Statement[];
    },
  ): Promise<SignedIn> {
    try {
      const account = await this.#accounts.create(
        { email, name: identity.name.slice(0, 200) },
        (made) => [this.#statement(made.id, identity, { settings, why }), ...also(made, "created")],
      );
      return { account, news: "created" };
    } catch (error) {
      // a name that shows nothing or misleads is no reason to stay outside
      if (!(error instanceof AccountError) || error.fault !== "invalid" || identity.name === "") {
        throw error;
      }
      return await this.#create({ ...identity, name: "" }, email, { settings, why, also });
    }
  }

  #statement(
    accountId: string,
    { issuer, subject }: Identity,
    { settings, why, then = "" }: {
      readonly settings: OidcSettings;
      readonly why: LinkedBy;
      readonly then?: string;
    },
  ): Statement {
    return insertOf("insert into identities", {
      issuer,
      subject,
      accountId,
      provider: settings.name,
      linkedBy: why,
      linkedAtMs: this.#now(),
    }, { then });
  }
}

/** The statements after which neither an identity nor a passkey signs in an account. */
export function forgetWays(accountId: string): Statement[] {
  return [
    { sql: "delete from passkeys where account_id = ?", args: [accountId] },
    { sql: "delete from identities where account_id = ?", args: [accountId] },
  ];
}

/** The statement that gives an identity the name that its provider has in the settings now: its sessions and tools are known by it. */
function renamed(
  { issuer, subject }: Pick<Link, "issuer" | "subject">,
  { name }: Pick<OidcSettings, "name">,
): Statement {
  return {
    sql: "update identities set provider = ? where issuer = ? and subject = ?",
    args: [name, issuer, subject],
  };
}

function isLinked(
  { id }: Pick<Account, "id">,
  { issuer, subject }: Pick<Link, "issuer" | "subject">,
): Condition {
  return {
    sql: "exists (select 1 from identities where account_id = ? and issuer = ? and subject = ?)",
    args: [id, issuer, subject],
  };
}

/** By what somebody may sign in who has not linked the identity by hand; `undefined` if by nothing. */
function whyAllowed(
  { email, isVerified, groups }: Identity,
  settings: OidcSettings,
): "domain" | "group" | undefined {
  const listed = Object.keys(settings.groups);
  if (groups === "too many" && listed.length > 0) {
    throw new SignInError(
      `The provider ${settings.name} left out your groups, as they are too many: ` +
        "have it send only those assigned to this application",
    );
  }
  const domain = email?.slice(email.lastIndexOf("@") + 1);
  if (isVerified && domain !== undefined && settings.domains.includes(domain)) return "domain";
  return groups !== "too many" && groups.some((group) => listed.includes(group))
    ? "group"
    : undefined;
}

function whyNot({ email, isVerified }: Identity, settings: OidcSettings): string {
  const whose = email === undefined ? "This identity" : email;
  const isClaimed = email !== undefined &&
    settings.domains.includes(email.slice(email.lastIndexOf("@") + 1));
  return isClaimed && !isVerified
    ? `The provider ${settings.name} has not verified the address ${email}`
    : `${whose} may not sign in with ${settings.name}: neither its domain nor a group of it is listed`;
}

/** @throws {SignInError} If nobody may sign in to an account. */
export function usable(account: Account | undefined): Account {
  if (account === undefined || account.kind !== "person") {
    throw new SignInError("This account is not a person's");
  }
  if (account.disabledAtMs !== null) throw new SignInError(`Account ${account.email} is disabled`);
  return account;
}
