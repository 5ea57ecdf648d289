import { createHash } from "node:crypto";
import * as z from "zod";
import { type Database, DatabaseError, type Row, type Statement } from "../database/mod.ts";
import { type Account, AccountError, checkName } from "./accounts.ts";
import { displayed, newId, randomText } from "../platform/mod.ts";

const modelList = z.array(z.string());

const keyRow = z.object({
  id: z.string(),
  account_id: z.string(),
  name: z.string(),
  hint: z.string(),
  models: z.string().nullable(),
  budget_credits: z.int().nullable(),
  created_at_ms: z.int(),
  expires_at_ms: z.int().nullable(),
  revoked_at_ms: z.int().nullable(),
}).transform((row) => ({
  id: row.id,
  accountId: row.account_id,
  name: displayed(row.name),
  /** First and last characters of the key, to tell keys apart. */
  hint: row.hint,
  models: row.models === null ? null : modelList.parse(JSON.parse(row.models)),
  budgetCredits: row.budget_credits,
  createdAtMs: row.created_at_ms,
  expiresAtMs: row.expires_at_ms,
  revokedAtMs: row.revoked_at_ms,
}));

/** An API key without its secret, of which only the digest is stored. Times are in milliseconds since the epoch. */
export type Key = z.output<typeof keyRow>;

const COLUMNS =
  "id, account_id, name, hint, models, budget_credits, created_at_ms, expires_at_ms, revoked_at_ms";
const OF_ACCOUNT = `select ${COLUMNS} from keys where account_id = ? order by created_at_ms, id`;
const BY_DIGEST = `select ${COLUMNS} from keys where digest = ?`;
const BY_ID = `select ${COLUMNS} from keys where id = ?`;
const INSERT = `insert into keys (${COLUMNS}, digest, source)
  select ?, ?, ?, ?, ?, ?, ?, ?, null, ?, ?`;
const UNLESS_THERE_IS_ONE = "where not exists (select 1 from keys where account_id = ?)";
const REVOKE = "update keys set revoked_at_ms = ? where id = ? and revoked_at_ms is null";
const REVOKE_OTHER_ENVIRONMENT_KEYS = `update keys set revoked_at_ms = ?
  where source = 'environment' and digest <> ? and revoked_at_ms is null`;
const ENVIRONMENT_KEY = "select revoked_at_ms from keys where digest = ?";

/** 100 years. */
const LONGEST_MS = 36_525 * 86_400_000;

/**
 * Format of API keys: `sk-` and 16 to 200 letters, digits, `_` or `-`. Keys that Sluice issues have 43; those that other
 * gateways issued may be shorter (LiteLLM: 22).
 */
export const KEY_PATTERN = /^sk-[A-Za-z0-9_-]{16,200}$/;

/** Whether a key that another gateway issued can be used here. */
export function isImportableKey(secret: string): boolean {
  return KEY_PATTERN.test(secret);
}

/** Name and restrictions of a new key. */
export interface KeyOptions {
  /** ID from {@linkcode newKeyId}, which makes issuing idempotent. Default: a new one. */
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly expiresAtMs?: number | undefined;
  /** Route IDs that the key may use. Default: all. */
  readonly models?: readonly string[] | undefined;
  /** Total credits that the key may spend. Default: no limit. */
  readonly budgetCredits?: number | undefined;
}

/** Thrown if the ID of a new key is already in use. */
export class DuplicateKey extends AccountError {}

/** Issues, lists and revokes API keys. */
export class Keys {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * Issues a key.
   *
   * @param account Owner of the key.
   * @param options Name and restrictions.
   * @returns The key with its `secret`, which cannot be read again.
   * @throws {AccountError} If an option is invalid.
   * @throws {DuplicateKey} If `options.id` is already in use.
   */
  async issue(account: Account, options: KeyOptions = {}): Promise<Key & { secret: string }> {
    this.#check(options);
    const secret = newSecret();
    const key = newKey(account, secret, this.#now(), options);
    await this.#insert(insertKey(key, digestOf(secret), "issued"));
    return { ...key, secret };
  }

  #check({ id, name = "", expiresAtMs }: KeyOptions): void {
    const now = this.#now();
    checkName(name);
    if (expiresAtMs !== undefined && expiresAtMs <= now) {
      throw new AccountError("The expiry of a key must be in the future");
    }
    if (expiresAtMs !== undefined && expiresAtMs > now + LONGEST_MS) {
      throw new AccountError("The expiry of a key must be within 100 years");
    }
    if (id !== undefined && !KEY_ID.test(id)) throw new AccountError("Invalid key ID");
  }

  async #insert(statement: Statement): Promise<void> {
    try {
      await this.#database.batch([statement]);
    } catch (error) {
      if (!(error instanceof DatabaseError && error.isDuplicate)) throw error;
      throw new DuplicateKey("Key ID already exists");
    }
  }

  /**
   * Makes a key valid that another gateway issued.
   *
   * @param account Owner of the key.
   * @param digest SHA-256 of the key in hexadecimal, and up to 16 characters that show which one it is.
   * @param options Name and restrictions.
   * @returns The key.
   * @throws {AccountError} If an option is invalid.
   * @throws {DuplicateKey} If the key or its ID is in use already.
   */
  async import(
    account: Account,
    { hex, hint }: { readonly hex: string; readonly hint: string },
    options: KeyOptions = {},
  ): Promise<Key> {
    this.#check(options);
    if (!/^[0-9a-f]{64}$/.test(hex)) throw new AccountError("Invalid digest of a key");
    const key = { ...newKey(account, "", this.#now(), options), hint: hint.slice(0, 16) };
    await this.#insert(insertKey(key, hex, "issued"));
    return key;
  }

  /**
   * Issues a key if the account never had one.
   *
   * @returns The key's secret, or `undefined` if the account has or had a key.
   */
  async issueFirst(account: Account): Promise<string | undefined> {
    const secret = newSecret();
    const key = newKey(account, secret, this.#now(), { name: "first key" });
    const { sql, args = [] } = insertKey(key, digestOf(secret), "issued");
    await this.#database.batch([{
      sql: `${sql} ${UNLESS_THERE_IS_ONE}`,
      args: [...args, account.id],
    }]);
    const row = await this.#database.one(BY_ID, [key.id]);
    return row === undefined ? undefined : secret;
  }

  /**
   * Lists the keys of an account, including revoked and expired ones.
   *
   * @returns Keys, oldest first.
   */
  async list(account: Account): Promise<Key[]> {
    return (await this.#database.all(OF_ACCOUNT, [account.id])).map(read);
  }

  /**
   * Finds a key.
   *
   * @returns The key, or `undefined`.
   */
  async byId(id: string): Promise<Key | undefined> {
    const row = await this.#database.one(BY_ID, [id]);
    return row === undefined ? undefined : read(row);
  }

  /**
   * Finds keys by their IDs.
   *
   * @returns Those that there are, revoked and expired ones included, by ID.
   */
  async byIds(ids: readonly string[]): Promise<ReadonlyMap<string, Key>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#database.all(
      `select ${COLUMNS} from keys where id in (select value from json_each(?))`,
      [JSON.stringify(ids)],
    );
    return new Map(rows.map(read).map((key) => [key.id, key]));
  }

  /**
   * Finds a key by its secret.
   *
   * @returns The key, revoked and expired ones included, or `undefined`.
   */
  async bySecret(secret: string): Promise<Key | undefined> {
    return await this.byDigest(digestOf(secret));
  }

  /**
   * Finds a key by the SHA-256 digest of its secret, in hexadecimal.
   *
   * @returns The key, revoked and expired ones included, or `undefined`.
   */
  async byDigest(hex: string): Promise<Key | undefined> {
    const row = await this.#database.one(BY_DIGEST, [hex]);
    return row === undefined ? undefined : read(row);
  }

  /**
   * Reads when each key of an account was last used.
   *
   * @returns Start of the latest request by key ID, in milliseconds since the epoch, without unused keys.
   */
  async lastUse(account: Account): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#database.all(
      `select id, last_used_at_ms from keys join key_uses on key_id = id where account_id = ?`,
      [account.id],
    );
    return new Map(rows.map((row) => [String(row.id), Number(row.last_used_at_ms)]));
  }

  /**
   * Revokes a key permanently. Revoking it again changes nothing.
   *
   * @returns The key.
   * @throws {AccountError} If the key does not exist.
   */
  async revoke(id: string): Promise<Key> {
    await this.#database.batch([{ sql: REVOKE, args: [this.#now(), id] }]);
    const row = await this.#database.one(BY_ID, [id]);
    if (row === undefined) {
      throw new AccountError(
        `Key ${JSON.stringify(id)} not found. List keys with: sluice key list`,
      );
    }
    return read(row);
  }

  /**
   * Makes the key from `SLUICE_OWNER_KEY` valid for the owner, and revokes an earlier one.
   *
   * @param owner The owner's account.
   * @param secret The key.
   * @throws {AccountError} If this key was revoked before.
   */
  async adopt(owner: Account, secret: string): Promise<void> {
    const digest = digestOf(secret);
    const now = this.#now();
    const known = await this.#database.one(ENVIRONMENT_KEY, [digest]);
    if (known !== undefined && known.revoked_at_ms !== null) {
      throw new AccountError(
        "SLUICE_OWNER_KEY has been revoked: set it to another key",
      );
    }
    const statements: Statement[] = [
      { sql: REVOKE_OTHER_ENVIRONMENT_KEYS, args: [now, digest] },
    ];
    if (known === undefined) {
      const key = newKey(owner, secret, now, { name: "SLUICE_OWNER_KEY" });
      statements.push(insertKey(key, digestOf(secret), "environment"));
    }
    await this.#database.batch(statements);
  }
}

function newSecret(): string {
  return `sk-${randomText(43)}`;
}

/**
 * Digests a secret for storage.
 *
 * @returns SHA-256 in hexadecimal.
 */
export function digestOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Format of the IDs that {@linkcode newKeyId} returns. */
const KEY_ID = /^key_[A-Za-z0-9]{16}$/;

/**
 * Makes an ID for a key that is still to be issued.
 *
 * @returns `key_` and 16 letters and digits.
 */
export function newKeyId(): string {
  return newId("key");
}

function newKey(account: Account, secret: string, nowMs: number, options: KeyOptions): Key {
  return {
    id: options.id ?? newKeyId(),
    accountId: account.id,
    name: options.name ?? "",
    hint: `${secret.slice(0, 6)}…${secret.slice(-4)}`,
    models: options.models === undefined ? null : [...options.models],
    budgetCredits: options.budgetCredits ?? null,
    createdAtMs: nowMs,
    expiresAtMs: options.expiresAtMs ?? null,
    revokedAtMs: null,
  };
}

/** Returns the statement that stores `key`. */
function insertKey(key: Key, digest: string, source: "issued" | "environment"): Statement {
  const models = key.models === null ? null : JSON.stringify(key.models);
  return {
    sql: INSERT,
    args: [
      key.id,
      key.accountId,
      key.name,
      key.hint,
      models,
      key.budgetCredits,
      key.createdAtMs,
      key.expiresAtMs,
      digest,
      source,
    ],
  };
}

function read(row: Row): Key {
  return keyRow.parse(row);
}
