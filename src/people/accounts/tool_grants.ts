import { createHmac, timingSafeEqual } from "node:crypto";
import * as z from "zod";
import type { Condition, Database, Statement } from "../../ground/database/mod.ts";
import { digestOf, randomText } from "../../ground/platform/mod.ts";
import { insertOf, rowOf, shownText } from "../../ground/row.ts";
import { endApprovals } from "./access.ts";
import type { Account } from "./account.ts";
import { hintOf, insertKey, newKey, newKeyId } from "./key.ts";
import { least, textsOf } from "../../ground/sql/mod.ts";

/** How long an access token is valid. */
const ACCESS_MS = 3_600_000;
/** How long a tool stays signed in that does not refresh. */
const IDLE_MS = 30 * 86_400_000;
/** How long after a refresh its token gives the same again: the reply may have been lost, or two processes of a tool share it. */
const AGAIN_MS = 60_000;
const PREVIOUS_UNTIL = least("expires_at_ms", `? + ${AGAIN_MS}`);
const SALT_CHARS = 32;
/** What Claude Code is called when it signs in. */
export const CLAUDE_CODE = "Claude Code";
const PURPOSE = "sluice refresh token of a tool";
const REFRESH_TOKEN = /^rt-(key_[A-Za-z0-9]{16})-([1-9][0-9]{0,14})-([A-Za-z0-9_-]{43})$/;

/** What a tool gets. */
export interface ToolTokens {
  /** An API key with the scope `inference`. */
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly keyId: string;
  /** How long the access token is valid, in milliseconds. */
  readonly forMs: number;
}

/**
 * What became of a refresh token: tokens; `unknown`, expired or revoked; or its tool is signed out, as the token had been used before or
 * the provider no longer vouches for the person who approved the tool.
 */
export type Refreshed = ToolTokens | "unknown" | "reused" | "refused";

/** How a tool is signed in. */
export interface GrantOptions {
  /** Default: a new one. */
  readonly keyId?: string | undefined;
  /** From where it asked. */
  readonly address?: string | null | undefined;
  /** The settings' name of the provider that had signed in the person who approved it. */
  readonly provider?: string | null | undefined;
  /** Statements for the same transaction, before it; it fails with them. */
  readonly onlyWith?: readonly Statement[] | undefined;
}

const signedInTool = rowOf({
  key_id: z.string(),
  /** What it calls itself. */
  client: shownText,
  /** From where it was signed in. */
  address: z.string().nullable(),
  created_at_ms: z.int(),
  refreshed_at_ms: z.int(),
  /** When it has to refresh at the latest. */
  expires_at_ms: z.int(),
});

/** A tool that is signed in, as its account lists it. */
export type SignedInTool = z.output<typeof signedInTool>;

/** Says whether the provider still vouches for somebody who has approved a tool. */
export type Vouching = (accountId: string, provider: string) => Promise<boolean>;

interface GrantRow {
  readonly key_id: string;
  readonly account_id: string;
  readonly provider: string | null;
  readonly salt: string;
  readonly generation: number;
  readonly refreshed_at_ms: number;
  readonly expires_at_ms: number;
}

/**
 * Signs tools in. A tool has one key for as long as it is signed in, by which its usage is known; each refresh gives the key another
 * secret, and the tool another refresh token.
 *
 * The tokens of a refresh follow from the grant and the number of the refresh, so that a refresh which is repeated within a minute gives
 * the same tokens. A refresh token that is used again later was stolen, or was stolen from: the tool is signed out (RFC 9700, section 4.14.2).
 */
export class ToolGrants {
  readonly #database: Database;
  readonly #key: () => Promise<Uint8Array>;
  readonly #now: () => number;
  readonly #vouches: Vouching;

  /**
   * @param options.key The key of the seals.
   * @param options.vouches Asked at each refresh of a tool that somebody has approved whom a provider had signed in.
   */
  constructor(
    { database, key, now, vouches = () => Promise.resolve(true) }: {
      readonly database: Database;
      readonly key: () => Promise<Uint8Array>;
      readonly now: () => number;
      readonly vouches?: Vouching;
    },
  ) {
    this.#database = database;
    this.#key = key;
    this.#now = now;
    this.#vouches = vouches;
  }

  /**
   * Signs a tool in.
   *
   * @param client What the tool calls itself; its key has that name.
   */
  async issue(
    account: Pick<Account, "id">,
    client: string,
    { keyId = newKeyId(), address = null, provider = null, onlyWith = [] }: GrantOptions = {},
  ): Promise<ToolTokens> {
    const [salt, now] = [randomText(SALT_CHARS), this.#now()];
    const tokens = await this.#tokens({ keyId, salt, generation: 1 });
    const key = newKey(account, tokens.accessToken, now, {
      id: keyId,
      name: client,
      expiresAtMs: now + ACCESS_MS,
    });
    await this.#database.batch([
      ...onlyWith,
      insertKey(key, digestOf(tokens.accessToken)),
      insertOf("insert into tool_grants", {
        keyId,
        client,
        salt,
        generation: 1,
        address,
        provider,
        refreshedAtMs: now,
        expiresAtMs: now + IDLE_MS,
      }),
    ]);
    return tokens;
  }

  /** Gives a tool new tokens for a refresh token. */
  async refresh(token: string): Promise<Refreshed> {
    const parts = REFRESH_TOKEN.exec(token);
    if (parts === null) return "unknown";
    const keyId = parts[1]!;
    const generation = Number(parts[2]);
    const now = this.#now();
    const row = await this.#database.one(
      `select tool_grants.*, account_id from tool_grants join keys on keys.id = key_id
          join accounts on accounts.id = keys.account_id
        where key_id = ? and revoked_at_ms is null and disabled_at_ms is null`,
      [keyId],
    ) as GrantRow | undefined;
    if (row === undefined || row.expires_at_ms <= now) return "unknown";
    const { salt } = row;
    const genuine = await this.#refreshToken({ keyId, salt, generation });
    if (!isSame(genuine, token)) return "unknown";
    const next = await this.#tokens({ keyId, salt, generation: generation + 1 });
    const isLast = generation === row.generation;
    const isAgain = generation === row.generation - 1 && now - row.refreshed_at_ms <= AGAIN_MS;
    if (isAgain) return next;
    if (!isLast) {
      await this.end(keyId);
      return "reused";
    }
    if (row.provider !== null && !await this.#vouches(row.account_id, row.provider)) {
      await this.end(keyId);
      return "refused";
    }
    const digest = digestOf(next.accessToken);
    await this.#database.batch([
      {
        sql: `update tool_grants set generation = ?, refreshed_at_ms = ?, expires_at_ms = ?
          where key_id = ? and generation = ?`,
        args: [generation + 1, now, now + IDLE_MS, keyId, generation],
      },
      {
        // requests that are on their way have the secret of before, for as long as that would have been valid
        sql: `update keys set previous_digest = digest,
            previous_until_ms = ${PREVIOUS_UNTIL}, digest = ?, hint = ?, expires_at_ms = ?
          where id = ? and digest <> ? and revoked_at_ms is null
            and exists (select 1 from tool_grants where key_id = ? and generation = ?)`,
        args: [
          now,
          digest,
          hintOf(next.accessToken),
          now + ACCESS_MS,
          keyId,
          digest,
          keyId,
          generation + 1,
        ],
      },
    ]);
    return next;
  }

  /** Signs out the tool that a token is of, whichever of its tokens it is. Does nothing if it is of none (RFC 7009). */
  async revoke(token: string): Promise<void> {
    const parts = REFRESH_TOKEN.exec(token);
    const row = await this.#database.one(
      `select tool_grants.* from tool_grants join keys on keys.id = key_id
        where key_id = ? or keys.digest = ? or keys.previous_digest = ?`,
      [parts?.[1] ?? "", digestOf(token), digestOf(token)],
    ) as GrantRow | undefined;
    if (row === undefined) return;
    if (parts !== null) {
      const grant = { keyId: row.key_id, salt: row.salt, generation: Number(parts[2]) };
      if (!isSame(await this.#refreshToken(grant), token)) return;
    }
    await this.end(row.key_id);
  }

  /** Lists the tools that an account has signed in, those that refreshed last first. */
  async list({ id }: Pick<Account, "id">): Promise<SignedInTool[]> {
    const rows = await this.#database.all(
      `select key_id, client, address, created_at_ms, refreshed_at_ms, tool_grants.expires_at_ms
        from tool_grants join keys on keys.id = key_id
        where account_id = ? and revoked_at_ms is null and tool_grants.expires_at_ms > ?
        order by refreshed_at_ms desc, key_id`,
      [id, this.#now()],
    );
    return rows.map((row) => signedInTool.parse(row));
  }

  /** Which of some keys are those of tools, signed in or not. */
  async keysAmong(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#database.all(
      `select key_id from tool_grants where key_id in ${textsOf()}`,
      [JSON.stringify(ids)],
    );
    return new Set(rows.map((row) => String(row.key_id)));
  }

  /** Signs out a tool: its key is revoked. */
  async end(keyId: string): Promise<void> {
    await this.#end("id = ?", [keyId]);
  }

  /**
   * Signs out tools of an account.
   *
   * @param keyId One of them by its key; default: all, with those that were approved and have no tokens yet.
   * @param record Returns the statement of the log; what it is given holds if there is one to end.
   */
  async endOf(
    { id }: Pick<Account, "id">,
    keyId?: string,
    record?: (onlyIf: Condition) => Statement,
  ): Promise<void> {
    if (keyId === undefined) await this.#end("account_id = ?", [id], record, endApprovals(id));
    else await this.#end("account_id = ? and id = ?", [id, keyId], record);
  }

  async #end(
    which: string,
    args: readonly string[],
    record?: (onlyIf: Condition) => Statement,
    also: readonly Statement[] = [],
  ): Promise<void> {
    const those = `${which} and revoked_at_ms is null
      and exists (select 1 from tool_grants where key_id = keys.id)`;
    await this.#database.batch([
      ...(record === undefined
        ? []
        : [record({ sql: `exists (select 1 from keys where ${those})`, args })]),
      { sql: `update keys set revoked_at_ms = ? where ${those}`, args: [this.#now(), ...args] },
      ...also,
    ]);
  }

  async #tokens(grant: Grant): Promise<ToolTokens> {
    return {
      accessToken: `sk-${await this.#mac("access", grant)}`,
      refreshToken: await this.#refreshToken(grant),
      keyId: grant.keyId,
      forMs: ACCESS_MS,
    };
  }

  async #refreshToken(grant: Grant): Promise<string> {
    return `rt-${grant.keyId}-${grant.generation}-${await this.#mac("refresh", grant)}`;
  }

  async #mac(what: string, { keyId, salt, generation }: Grant): Promise<string> {
    const own = createHmac("sha256", await this.#key()).update(PURPOSE).digest();
    return createHmac("sha256", own).update(JSON.stringify([what, keyId, salt, generation]))
      .digest("base64url");
  }
}

/** By what the tokens of a grant are made. */
interface Grant {
  readonly keyId: string;
  readonly salt: string;
  readonly generation: number;
}

/** Whether two refresh tokens of one key and generation are the same: both are as long. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(new TextEncoder().encode(one), new TextEncoder().encode(other));
}
