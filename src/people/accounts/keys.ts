import { allOf, type Database, ifGiven, type Statement } from "../../ground/database/mod.ts";
import { type Account, AccountError, conflict, readName } from "./account.ts";
import {
  checkKeyOptions,
  hintOf,
  insertKey,
  insertKeys,
  type Key,
  KEY_COLUMNS,
  type KeyOptions,
  newKey,
  newSecret,
  readKey,
  type Scope,
} from "./key.ts";
import { type Action, can } from "./permissions.ts";
import type { Team } from "./teams.ts";
import { iif, textsOf } from "../../ground/sql/mod.ts";
import { digestOf } from "../../ground/platform/mod.ts";

const OF_ACCOUNT = `select ${KEY_COLUMNS} from keys where account_id = ? or member_id = ?
  order by created_at_ms, id`;
const BY_DIGEST = `select ${KEY_COLUMNS} from keys where digest = ?`;
const BY_ID = `select ${KEY_COLUMNS} from keys where id = ?`;
const THERE_IS_NONE = "not exists (select 1 from keys where account_id = ?)";
const UPDATE = `update keys set name = ${iif("? = 1", "?", "name")}, models = ${
  iif("? = 1", "?", "models")
},
    expires_at_ms = ${iif("? = 1", "?", "expires_at_ms")}, at_once = ${iif("? = 1", "?", "at_once")}
  where id = ? and revoked_at_ms is null`;
const ROTATE =
  `update keys set previous_digest = digest, previous_until_ms = ?, digest = ?, hint = ?
  where id = ? and revoked_at_ms is null and digest = ? returning id`;
const REVOKE = "update keys set revoked_at_ms = ? where id = ? and revoked_at_ms is null";
const REVOKE_OTHER_ENVIRONMENT_KEYS = `update keys set revoked_at_ms = ?
  where source = 'environment' and digest <> ? and revoked_at_ms is null`;
const ENVIRONMENT_KEY = "select revoked_at_ms from keys where digest = ?";

/** How long a secret may stay valid after it was replaced. */
const LONGEST_OVERLAP_MS = 90 * 86_400_000;
/** Scopes that need a role of the account, and the roles that may have them. */
const ROLES_OF_SCOPE: Readonly<Record<Exclude<Scope, "inference">, Action>> = {
  admin: "key.admin",
  read: "key.read",
  scim: "key.scim",
};

/** Issues, lists, changes and revokes API keys. */
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
   * @param also Returns statements to run in the same transaction.
   * @returns The key with its `secret`, which cannot be read again.
   * @throws {AccountError} If an option is invalid.
   * @throws {DuplicateKey} If `options.id` is already in use.
   */
  async issue(
    account: Account,
    options: KeyOptions = {},
    also: (key: Key) => readonly Statement[] = () => [],
  ): Promise<Key & { secret: string }> {
    checkKeyOptions(options, this.#now());
    mustBePayer(account);
    checkScopes(account, options.scopes);
    const { secret = newSecret() } = options;
    const key = newKey(account, secret, this.#now(), options);
    await insertKeys(this.#database, [insertKey(key, digestOf(secret)), ...also(key)]);
    return { ...key, secret };
  }

  /**
   * Changes a key's name and restrictions. What is left out stays as it is.
   *
   * @param changes Its name, the route IDs that it may use, when it expires, and its max requests in flight; `null` lifts a restriction.
   * @throws {AccountError} If the key does not exist or is revoked, or a change is invalid.
   */
  async change(
    id: string,
    { name, models, expiresAtMs, atOnce }: {
      readonly name?: string | undefined;
      readonly models?: readonly string[] | null | undefined;
      readonly expiresAtMs?: number | null | undefined;
      readonly atOnce?: number | null | undefined;
    },
  ): Promise<Key> {
    checkKeyOptions({ name, expiresAtMs: expiresAtMs ?? undefined }, this.#now());
    const { revokedAtMs } = await this.#get(id);
    if (revokedAtMs !== null) throw revoked(id);
    const set = (value: unknown) => value === undefined ? 0 : 1;
    await this.#database.batch([{
      sql: UPDATE,
      args: [
        set(name),
        readName(name ?? ""),
        set(models),
        models ? JSON.stringify(models) : null,
        set(expiresAtMs),
        expiresAtMs ?? null,
        set(atOnce),
        atOnce ?? null,
        id,
      ],
    }]);
    return await this.#get(id);
  }

  /**
   * Gives a key another secret. Its ID, restrictions, budgets and usage stay.
   *
   * @param keepMs How long the present secret stays valid, up to 90 days. One that it replaced earlier ends at once.
   * @param secret The new secret. Default: a random one.
   * @param endsEarlier Whether to keep the present secret although an earlier one has been promised more time and ends.
   * @returns The key with its new `secret`, which cannot be read again.
   * @throws {AccountError} If the key does not exist, is revoked or comes from `SLUICE_OWNER_KEY`, or was rotated at the
   *   same time; if an earlier secret would end before its time.
   */
  async rotate(
    id: string,
    keepMs: number,
    secret: string = newSecret(),
    endsEarlier = false,
  ): Promise<Key & { secret: string }> {
    if (!Number.isSafeInteger(keepMs) || keepMs < 0 || keepMs > LONGEST_OVERLAP_MS) {
      throw new AccountError("The previous secret may stay valid for up to 90 days");
    }
    const { revokedAtMs, previousUntilMs } = await this.#get(id);
    if (revokedAtMs !== null) throw revoked(id);
    if (keepMs > 0 && (previousUntilMs ?? 0) > this.#now() && !endsEarlier) {
      const until = new Date(previousUntilMs!).toISOString().slice(0, 16).replace("T", " ");
      throw conflict(
        `The secret before this one is still valid, until ${until} UTC, and only one is kept: say that it ends now ` +
          "(--end-earlier, end_earlier), or rotate when it has ended",
      );
    }
    const row = await this.#database.one("select digest, source from keys where id = ?", [id]);
    if (row?.source === "environment") {
      throw conflict("This key comes from SLUICE_OWNER_KEY: set that to another key");
    }
    const args = [this.#now() + keepMs, digestOf(secret), hintOf(secret), id, String(row?.digest)];
    const [rotated] = await this.#database.batch([{ sql: ROTATE, args }]);
    if (rotated!.length === 0) {
      throw conflict(`Key ${id} was changed at the same time: look at it and try again`);
    }
    return { ...await this.#get(id), secret };
  }

  async #get(id: string): Promise<Key> {
    const key = await this.byId(id);
    if (key !== undefined) return key;
    throw new AccountError(
      `Key ${JSON.stringify(id)} not found. List keys with: sluice key list`,
      { fault: "missing" },
    );
  }

  /**
   * Makes a key valid that another gateway issued.
   *
   * @param account Owner of the key.
   * @param digest SHA-256 of the key in hexadecimal, and up to 16 characters that show which one it is.
   * @param options Name and restrictions.
   * @param also Returns statements to run in the same transaction.
   * @throws {AccountError} If an option is invalid.
   * @throws {DuplicateKey} If the key or its ID is in use already.
   */
  async import(
    account: Account,
    { hex, hint }: { readonly hex: string; readonly hint: string },
    options: KeyOptions = {},
    also: (key: Key) => readonly Statement[] = () => [],
  ): Promise<Key> {
    checkKeyOptions(options, this.#now());
    if (!/^[0-9a-f]{64}$/.test(hex)) throw new AccountError("Invalid digest of a key");
    const key = { ...newKey(account, "", this.#now(), options), hint: hint.slice(0, 16) };
    await insertKeys(this.#database, [insertKey(key, hex), ...also(key)]);
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
    const onlyIf = { sql: THERE_IS_NONE, args: [account.id] };
    const [made] = await this.#database.batch([insertKey(key, digestOf(secret), { onlyIf })]);
    return made!.length === 0 ? undefined : secret;
  }

  /**
   * Lists the keys that an account pays for or uses as a member of a team, including revoked and expired ones.
   *
   * @returns Keys, oldest first.
   */
  async list({ id }: Pick<Account, "id">): Promise<Key[]> {
    return (await this.#database.all(OF_ACCOUNT, [id, id])).map(readKey);
  }

  /**
   * Lists keys of all accounts and teams in the order in which they were created.
   *
   * @param filter The account that pays or uses the key, the team, the member, whether revoked and expired keys are left
   *   out; the ID of the last key of the page before; max number of keys.
   * @returns Keys, oldest first.
   */
  async page(
    { accountId, teamId, memberId, activeAtMs, after, limit }: {
      readonly accountId?: string | undefined;
      readonly teamId?: string | undefined;
      readonly memberId?: string | undefined;
      /** Only keys that are neither revoked nor expired at this time. */
      readonly activeAtMs?: number | undefined;
      readonly after?: string | undefined;
      readonly limit: number;
    },
  ): Promise<Key[]> {
    const { sql, args } = allOf([
      ...ifGiven(accountId, "account_id = ? or member_id = ?"),
      ...ifGiven(teamId, "team_id = ?"),
      ...ifGiven(memberId, "member_id = ?"),
      ...ifGiven(
        activeAtMs,
        "revoked_at_ms is null and (expires_at_ms is null or expires_at_ms > ?)",
      ),
      ...ifGiven(after, "(created_at_ms, id) > (select created_at_ms, id from keys where id = ?)"),
    ]);
    const rows = await this.#database.all(
      `select ${KEY_COLUMNS} from keys where ${sql} order by created_at_ms, id limit ?`,
      [...args, limit],
    );
    return rows.map(readKey);
  }

  /** Finds a key. */
  async byId(id: string): Promise<Key | undefined> {
    const row = await this.#database.one(BY_ID, [id]);
    return row === undefined ? undefined : readKey(row);
  }

  /**
   * Finds keys by their IDs.
   *
   * @returns Those that there are, revoked and expired ones included, by ID.
   */
  async byIds(ids: readonly string[]): Promise<ReadonlyMap<string, Key>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#database.all(
      `select ${KEY_COLUMNS} from keys where id in ${textsOf()}`,
      [JSON.stringify(ids)],
    );
    return new Map(rows.map(readKey).map((key) => [key.id, key]));
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
    return row === undefined ? undefined : readKey(row);
  }

  /**
   * Reads when keys were last used.
   *
   * @param of The account that pays for the keys or uses them, or the team that they belong to.
   * @returns Start of the latest request by key ID, in milliseconds since the epoch, without unused keys.
   */
  async lastUse({ id }: Pick<Account | Team, "id">): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#database.all(
      `select id, last_used_at_ms from keys join key_uses on key_id = id
        where account_id = ? or member_id = ? or team_id = ?`,
      [id, id, id],
    );
    return new Map(rows.map((row) => [String(row.id), Number(row.last_used_at_ms)]));
  }

  /**
   * Reads when some keys were last used.
   *
   * @returns As {@linkcode lastUse}.
   */
  async lastUseOf(keyIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#database.all(
      `select key_id, last_used_at_ms from key_uses where key_id in ${textsOf()}`,
      [JSON.stringify(keyIds)],
    );
    return new Map(rows.map((row) => [String(row.key_id), Number(row.last_used_at_ms)]));
  }

  /**
   * Revokes a key permanently. Revoking it again changes nothing.
   *
   * @throws {AccountError} If the key does not exist.
   */
  async revoke(id: string): Promise<Key> {
    await this.#database.batch([{ sql: REVOKE, args: [this.#now(), id] }]);
    return await this.#get(id);
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
      statements.push(insertKey(key, digest, { source: "environment" }));
    }
    await this.#database.batch(statements);
  }
}

function revoked(id: string): AccountError {
  return conflict(`Key ${id} is revoked: create another one`);
}

/** @throws {AccountError} For the pool of a team, whose keys are the team's. */
function mustBePayer({ kind, email }: Account): void {
  if (kind === "pool") {
    throw new AccountError(`${email} is the pool of a team: create keys of the team`);
  }
}

/** @throws {AccountError} If there is no scope, or one that the account's role does not allow. */
function checkScopes(account: Account, scopes: readonly Scope[] | undefined): void {
  if (scopes?.length === 0) throw new AccountError("A key needs at least one scope");
  for (const scope of scopes ?? []) {
    if (scope === "inference") continue;
    if (!can({ account, teams: new Map() }, ROLES_OF_SCOPE[scope])) {
      throw new AccountError(
        `Keys of ${account.email} cannot have the scope '${scope}': its role is '${account.role}'`,
      );
    }
  }
}
