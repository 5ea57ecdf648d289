import { createHash } from "node:crypto";
import type { Database, Statement } from "../../ground/database/mod.ts";
import { insertOf } from "../../ground/row.ts";
import { digestOf, randomText } from "../../ground/platform/mod.ts";
import { type Account, AccountError } from "./account.ts";
import { newKeyId } from "./key.ts";
import type { GrantOptions } from "./tool_grants.ts";

/** How long a tool has to fetch its tokens (RFC 6749, section 4.1.2, has ten minutes at most). */
const CODE_MS = 60_000;
/** For how long it is remembered that a code was used, so that sending it again ends what it gave. */
const KEPT_MS = 86_400_000;
const CODE_CHARS = 43;
/** Codes of an account that are remembered at once. */
const MAX_OF_ACCOUNT = 100;
/** RFC 7636, section 4.1. */
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

/** A tool that asked for a code by a browser. */
export interface CodeRequest {
  readonly clientId: string;
  /** What people call it. */
  readonly client: string;
  readonly redirectUri: string;
  /** Of PKCE, method S256: the digest of what only the tool knows. */
  readonly challenge: string;
  /** Of the browser. */
  readonly address: string;
  /** The settings' name of the provider that had signed in the person who approved. */
  readonly provider: string | null;
}

/** What a tool sends to have tokens for a code. */
export interface CodeProof {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly verifier: string;
}

/** What became of a code: whose tool it signs in and how; `unknown`; or it had been used, by the tool with that key. */
export type Redeemed =
  | { readonly accountId: string; readonly client: string; readonly grant: GrantOptions }
  | { readonly usedBy: string }
  | "unknown";

/** Whether a text is the verifier of a challenge (RFC 7636, section 4.6). */
function isVerifierOf(challenge: string, verifier: string): boolean {
  return VERIFIER.test(verifier) &&
    createHash("sha256").update(verifier).digest("base64url") === challenge;
}

/**
 * Codes by which tools are signed in that somebody has approved in a browser (RFC 6749, section 4.1, with PKCE). A code counts once, for
 * the tool that asked for it. Only digests are stored.
 */
export class ToolCodes {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * Makes a code for a tool that an account has approved.
   *
   * @param also Statements for the same transaction.
   * @throws {AccountError} If the account has approved too many within a day.
   */
  async issue(
    { id }: Pick<Account, "id">,
    { clientId, client, redirectUri, challenge, provider, address }: CodeRequest,
    also: readonly Statement[] = [],
  ): Promise<string> {
    const code = randomText(CODE_CHARS);
    const now = this.#now();
    const [, made] = await this.#database.batch([
      { sql: "delete from tool_codes where expires_at_ms <= ?", args: [now - KEPT_MS] },
      insertOf("insert into tool_codes", {
        digest: digestOf(code),
        accountId: id,
        expiresAtMs: now + CODE_MS,
        clientId,
        client,
        redirectUri,
        challenge,
        provider,
        address,
      }, {
        onlyIf: {
          sql: "(select count(*) from tool_codes where account_id = ?) < ?",
          args: [id, MAX_OF_ACCOUNT],
        },
        then: "returning digest",
      }),
      ...also,
    ]);
    if (made!.length === 0) {
      throw new AccountError(
        `You have approved ${MAX_OF_ACCOUNT} tools within a day: wait, or use an API key`,
      );
    }
    return code;
  }

  /**
   * What a tool gets for a code. One that comes with anything else than what it was made for is spent: somebody else has it.
   *
   * @returns How to sign the tool in; the transaction that does so fails if the code was used meanwhile.
   */
  async redeem(code: string, proof: CodeProof): Promise<Redeemed> {
    const digest = digestOf(code);
    const row = await this.#database.one("select * from tool_codes where digest = ?", [digest]);
    if (row === undefined) return "unknown";
    if (row.key_id !== null) return { usedBy: String(row.key_id) };
    const fits = Number(row.expires_at_ms) > this.#now() && row.client_id === proof.clientId &&
      row.redirect_uri === proof.redirectUri && isVerifierOf(String(row.challenge), proof.verifier);
    if (!fits) {
      await this.#database.batch([{
        sql: "delete from tool_codes where digest = ? and key_id is null",
        args: [digest],
      }]);
      return "unknown";
    }
    const keyId = newKeyId();
    return {
      accountId: String(row.account_id),
      client: String(row.client),
      grant: {
        keyId,
        address: String(row.address),
        provider: row.provider === null ? null : String(row.provider),
        onlyWith: [
          // violates a check if the code is gone or used: of two that ask at once, one gets tokens
          {
            sql: `insert into tool_codes (digest) select null
              where not exists (select 1 from tool_codes where digest = ? and key_id is null)`,
            args: [digest],
          },
          { sql: "update tool_codes set key_id = ? where digest = ?", args: [keyId, digest] },
        ],
      },
    };
  }
}
