import { Buffer } from "node:buffer";
import * as z from "zod";
import {
  type Condition,
  type Database,
  DatabaseError,
  type Statement,
} from "../../ground/database/mod.ts";
import { digestOf, randomText, tidyName, whyNoName } from "../../ground/platform/mod.ts";
import { insertOf, rowOf, shownText } from "../../ground/row.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import { type Account, type Accounts, type Session } from "../accounts/mod.ts";
import { usable } from "./identities.ts";
import { checkRecent } from "./recent.ts";
import { SignInError } from "./sign_in_error.ts";
import { CHALLENGE_MS, SingleUses } from "./single_uses.ts";
import {
  ALGORITHMS,
  checkAssertion,
  checkAttestation,
  readAssertion,
  readAttestation,
  type Site,
} from "./webauthn.ts";

/** Passkeys that an account may have. */
const MAX_PASSKEYS = 20;
/** Whole bytes as base64url, so that what comes back is the same text. */
const CHALLENGE_CHARS = 44;
const BROWSER_CHARS = 32;
const BROWSER = new RegExp(`^[A-Za-z0-9]{${BROWSER_CHARS}}$`);

const passkeyRow = rowOf({
  id: z.string(),
  account_id: z.string(),
  name: shownText,
  algorithm: z.literal(ALGORITHMS),
  public_key: z.string(),
  counter: z.int(),
  created_at_ms: z.int(),
  used_at_ms: z.int().nullable(),
});

/** A passkey of an account. Its ID is the credential's, as base64url. */
export type Passkey = z.output<typeof passkeyRow>;

/** Where, by which browser, and with what result a passkey was used or made. */
export interface PasskeyUse {
  readonly site: Site;
  /** What the browser has kept since {@linkcode Passkeys.begin}. */
  readonly browser: string;
  /** What the page's script sends: JSON. */
  readonly result: string;
}

/** The session that adds a passkey to its account. */
type AddingSession = Pick<Session, "account" | "isRecent">;

/** Makes the statement that records a change, where a condition holds. */
type RecordIf = (onlyIf: Condition) => Statement;

/** Signs people in by passkeys (WebAuthn Level 3), of which only public keys are stored. */
export class Passkeys {
  readonly #database: Database;
  readonly #accounts: Accounts;
  readonly #log: Pick<Log, "warn">;
  readonly #now: () => number;
  readonly #challenges: SingleUses;

  constructor(
    { database, accounts, log, now }: {
      readonly database: Database;
      readonly accounts: Accounts;
      readonly log: Pick<Log, "warn">;
      readonly now: () => number;
    },
  ) {
    this.#database = database;
    this.#accounts = accounts;
    this.#log = log;
    this.#now = now;
    this.#challenges = new SingleUses({ database, kind: "challenge", now });
  }

  /**
   * Begins a sign-in.
   *
   * @param browser What the browser has kept of an earlier one: its other windows go on with that.
   * @returns What the browser has to keep, and options of `navigator.credentials.get()`, with bytes as base64url.
   */
  async beginSignIn({ rpId }: Site, browser: string | undefined) {
    const { challenge, browser: kept } = await this.#beginChallenge(browser);
    const options = { challenge, rpId, timeout: CHALLENGE_MS, userVerification: "required" };
    return { browser: kept, options };
  }

  /**
   * Begins adding a passkey to an account.
   *
   * @returns As {@linkcode beginSignIn}, with options of `navigator.credentials.create()`.
   * @throws {SignInError} If nobody has signed in a short while ago, or the account has as many as it may have.
   */
  async beginAdding(session: AddingSession, { rpId }: Site, browser: string | undefined) {
    checkRecent(session, "add a passkey");
    const { account } = session;
    const listed = await this.list(account);
    if (listed.length >= MAX_PASSKEYS) {
      throw new SignInError(`An account has up to ${MAX_PASSKEYS} passkeys: remove one first`);
    }
    const { challenge, browser: kept } = await this.#beginChallenge(browser, account.id);
    const options = {
      challenge,
      rp: { id: rpId, name: "Sluice" },
      user: {
        id: Buffer.from(account.id).toString("base64url"),
        name: account.email,
        displayName: account.name || account.email,
      },
      pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: "public-key", alg })),
      excludeCredentials: listed.map(({ id }) => ({ type: "public-key", id })),
      // so that it signs in without an address typed before
      authenticatorSelection: {
        residentKey: "required",
        requireResidentKey: true,
        userVerification: "required",
      },
      attestation: "none",
      timeout: CHALLENGE_MS,
    };
    return { browser: kept, options };
  }

  /**
   * Adds a passkey to an account.
   *
   * @param also Statements for the same transaction.
   * @throws {SignInError} If it was not asked for, cannot be used, or nobody has signed in a short while ago.
   */
  async register(
    session: AddingSession,
    { site, browser, result }: PasskeyUse,
    { name, also = [] }: { readonly name: string; readonly also?: readonly Statement[] },
  ): Promise<void> {
    checkRecent(session, "add a passkey");
    const { account } = session;
    const tidy = nameOf(name);
    const made = readAttestation(result);
    await this.#endChallenge(made.client.challenge, browser, account.id);
    const { publicKey, algorithm, counter } = checkAttestation(made, site);
    try {
      await this.#database.batch([
        insertOf("insert into passkeys", {
          id: made.id.toString("base64url"),
          accountId: account.id,
          name: tidy,
          algorithm,
          publicKey,
          counter,
          createdAtMs: this.#now(),
        }),
        ...also,
      ]);
    } catch (error) {
      if (!(error instanceof DatabaseError) || !error.isDuplicate) throw error;
      throw new SignInError("This passkey signs in an account already");
    }
  }

  /**
   * Finds the account that a passkey signs in.
   *
   * @returns The account, and the ID of the passkey.
   * @throws {SignInError} If it signs in nobody, or may be a copy: its counter is not above that of its last use.
   */
  async signIn({ site, browser, result }: PasskeyUse): Promise<{
    readonly account: Account;
    readonly passkey: string;
  }> {
    const used = readAssertion(result);
    await this.#endChallenge(used.client.challenge, browser);
    const passkey = await this.#find(used.id.toString("base64url"));
    if (passkey === undefined) throw unknownPasskey();
    const { id, accountId } = passkey;
    if (used.user.toString() !== accountId) {
      throw new SignInError("The passkey was made for another account");
    }
    const counter = checkAssertion(used, passkey, site);
    const account = usable(await this.#accounts.byId(accountId));
    // one statement: of two that count the same, one is first
    const [counted] = await this.#database.batch([{
      sql: `update passkeys set counter = ?, used_at_ms = ?
        where id = ? and (counter < ? or counter = 0 and ? = 0) returning id`,
      args: [counter, this.#now(), id, counter, counter],
    }]);
    if (counted!.length > 0) return { account, passkey: id };
    if (await this.#find(id) === undefined) throw unknownPasskey();
    this.#log.warn("a passkey's counter went back: it may have been copied", {
      account: accountId,
      passkey: id,
      counter,
      before: passkey.counter,
    });
    throw new SignInError(
      "The passkey counts fewer uses than are known of it, as a copy would: remove it, and add another",
    );
  }

  /** The passkeys of an account, oldest first. */
  async list({ id }: Pick<Account, "id">): Promise<Passkey[]> {
    const rows = await this.#database.all(
      "select * from passkeys where account_id = ? order by created_at_ms, id",
      [id],
    );
    return rows.map((row) => passkeyRow.parse(row));
  }

  /**
   * Renames a passkey of an account. Does nothing if there is none.
   *
   * @param record Makes the statement that records it, where a condition holds.
   * @throws {SignInError} If the name cannot be one.
   */
  async rename(
    account: Pick<Account, "id">,
    id: string,
    { name, record }: { readonly name: string; readonly record?: RecordIf },
  ): Promise<void> {
    const tidy = nameOf(name);
    await this.#database.batch([
      ...(record === undefined ? [] : [record(has(account, id))]),
      {
        sql: "update passkeys set name = ? where account_id = ? and id = ?",
        args: [tidy, account.id, id],
      },
    ]);
  }

  /** Removes a passkey of an account, and ends the sessions that it began. Does nothing if there is none. @param record As for {@linkcode rename}. */
  async remove(account: Pick<Account, "id">, id: string, record?: RecordIf): Promise<void> {
    await this.#database.batch([
      ...(record === undefined ? [] : [record(has(account, id))]),
      { sql: "delete from passkeys where account_id = ? and id = ?", args: [account.id, id] },
    ]);
  }

  async #find(id: string): Promise<Passkey | undefined> {
    const row = await this.#database.one("select * from passkeys where id = ?", [id]);
    return row === undefined ? undefined : passkeyRow.parse(row);
  }

  async #beginChallenge(sent: string | undefined, accountId?: string) {
    const browser = sent !== undefined && BROWSER.test(sent) ? sent : randomText(BROWSER_CHARS);
    const challenge = randomText(CHALLENGE_CHARS);
    await this.#challenges.begin(challenge, digestOf(browser), accountId);
    return { challenge, browser };
  }

  async #endChallenge(challenge: string, browser: string, accountId?: string): Promise<void> {
    const ended = await this.#challenges.end(challenge, digestOf(browser));
    if (ended !== undefined && ended.accountId === accountId) return;
    throw new SignInError(
      "This was not begun by this browser, took longer than five minutes, or is over: try again",
    );
  }
}

/** Whether a passkey is one of an account. */
function has(account: Pick<Account, "id">, id: string): Condition {
  return {
    sql: "exists (select 1 from passkeys where account_id = ? and id = ?)",
    args: [account.id, id],
  };
}

function nameOf(text: string): string {
  const name = tidyName(text);
  const why = name === "" ? "Name the passkey" : whyNoName(name);
  if (why !== undefined) throw new SignInError(why);
  return name;
}

function unknownPasskey(): SignInError {
  return new SignInError("This passkey signs in nobody here: it may have been removed");
}
