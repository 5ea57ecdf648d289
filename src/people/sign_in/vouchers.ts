import { Buffer } from "node:buffer";
import type { Database, Statement } from "../../ground/database/mod.ts";
import { DAY_MS, MINUTE_MS } from "../../ground/time.ts";
import { BoundCipher } from "../../wire/sealing/mod.ts";
import type { Identity } from "./identity.ts";
import type { OidcProvider } from "./provider.ts";
import { SignInError } from "./sign_in_error.ts";

/** How long the word of a provider counts that gives no refresh token, or cannot be reached. */
const VOUCHED_MS = 7 * DAY_MS;
/** How soon a provider is asked again about somebody: tools refresh once an hour. */
const ASKED_MS = 50 * MINUTE_MS;
const PURPOSE = "sluice refresh token of a provider";

type Key = Pick<Identity, "issuer" | "subject">;

/** What tools go on by that somebody has approved: the provider vouches for that person, by their sign-ins and its refresh tokens. */
export class Vouchers {
  readonly #database: Database;
  readonly #sealKey: () => Promise<Uint8Array>;
  readonly #now: () => number;
  readonly #providerOf: (name: string) => OidcProvider | undefined;

  /** @param options.providerOf Finds a provider of the settings by its name. */
  constructor(
    { database, sealKey, now, providerOf }: {
      readonly database: Database;
      readonly sealKey: () => Promise<Uint8Array>;
      readonly now: () => number;
      readonly providerOf: (name: string) => OidcProvider | undefined;
    },
  ) {
    this.#database = database;
    this.#sealKey = sealKey;
    this.#now = now;
    this.#providerOf = providerOf;
  }

  /** Notes that a provider has signed somebody in, with its refresh token if it gave one. */
  async note(identity: Key & Pick<Identity, "refreshToken">): Promise<void> {
    const { refreshToken } = identity;
    const sealed = refreshToken === undefined ? null : await this.#seal(identity, refreshToken);
    await this.#database.batch([vouching(identity, sealed, this.#now())]);
  }

  /**
   * Whether a provider vouches for an account: it signed somebody in whose identity is linked to it, or says so by its refresh token,
   * within seven days, and has not refused since. Who has a refresh token is asked about once an hour; a provider that is away
   * refuses nobody.
   */
  async vouches(accountId: string, provider: string): Promise<boolean> {
    const asked = this.#providerOf(provider);
    if (asked === undefined) return false;
    const rows = await this.#database.all(
      `select issuer, subject from identities where account_id = ? and provider = ?
        and refresh_sealed is not null`,
      [accountId, provider],
    );
    for (const row of rows) {
      await this.#ask(asked, { issuer: String(row.issuer), subject: String(row.subject) });
    }
    return await this.#database.one(
      `select 1 as found from identities where account_id = ? and provider = ?
        and coalesce(vouched_at_ms, linked_at_ms) > ? limit 1`,
      [accountId, provider, this.#now() - VOUCHED_MS],
    ) !== undefined;
  }

  async #ask(provider: OidcProvider, identity: Key): Promise<void> {
    const now = this.#now();
    // one statement: a refresh token counts once at many providers, so of several tools one asks
    const [taken] = await this.#database.batch([{
      sql: `update identities set asked_at_ms = ? where issuer = ? and subject = ?
          and refresh_sealed is not null and coalesce(asked_at_ms, 0) <= ? returning refresh_sealed`,
      args: [now, identity.issuer, identity.subject, now - ASKED_MS],
    }]);
    const sealed = taken![0]?.refresh_sealed;
    if (sealed === undefined) return;
    const token = await this.#open(identity, String(sealed));
    if (token === undefined) return;
    try {
      const isVouchedFor = await provider.refresh(token, {
        subject: identity.subject,
        keep: (next) => this.#keep(identity, next, String(sealed)),
      });
      await this.#database.batch([
        isVouchedFor ? vouchingAgain(identity, now) : disowning(identity, String(sealed)),
      ]);
    } catch (error) {
      if (!(error instanceof SignInError)) throw error; // else the provider is away, or not to be believed: neither yes nor no
    }
  }

  /** Keeps the refresh token that a provider has given for another, unless somebody has signed in meanwhile. */
  async #keep(identity: Key, refreshToken: string, before: string): Promise<void> {
    const sealed = await this.#seal(identity, refreshToken);
    await this.#database.batch([{
      sql: `update identities set refresh_sealed = ?
        where issuer = ? and subject = ? and refresh_sealed = ?`,
      args: [sealed, identity.issuer, identity.subject, before],
    }]);
  }

  async #seal({ issuer, subject }: Key, token: string): Promise<string> {
    const cipher = new BoundCipher(await this.#sealKey(), PURPOSE);
    return cipher.encrypt(token, [issuer, subject]).toString("base64");
  }

  async #open({ issuer, subject }: Key, sealed: string): Promise<string | undefined> {
    try {
      const cipher = new BoundCipher(await this.#sealKey(), PURPOSE);
      return cipher.decrypt(Buffer.from(sealed, "base64"), [issuer, subject]);
    } catch {
      return undefined; // of another key of the seals, as after a restore without it
    }
  }
}

function vouching({ issuer, subject }: Key, sealed: string | null, atMs: number): Statement {
  return {
    sql: `update identities set vouched_at_ms = ?, asked_at_ms = ?, refresh_sealed = ?
      where issuer = ? and subject = ?`,
    args: [atMs, atMs, sealed, issuer, subject],
  };
}

function vouchingAgain({ issuer, subject }: Key, atMs: number): Statement {
  return {
    sql: `update identities set vouched_at_ms = ?
      where issuer = ? and subject = ? and refresh_sealed is not null`,
    args: [atMs, issuer, subject],
  };
}

/**
 * The statement by which a provider's word for somebody counts no more, until it signs them in again.
 *
 * @param refused The refresh token that it has refused, sealed: one of a later sign-in still counts.
 */
export function disowning({ issuer, subject }: Key, refused?: string): Statement {
  return {
    sql: `update identities set vouched_at_ms = 0, refresh_sealed = null
      where issuer = ?1 and subject = ?2 and (?3 is null or refresh_sealed = ?3)`,
    args: [issuer, subject, refused ?? null],
  };
}
