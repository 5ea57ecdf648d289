import { type Database, DatabaseError, type Statement } from "../../ground/database/mod.ts";
import { newId, tidyName } from "../../ground/platform/mod.ts";
import {
  type Account,
  AccountError,
  checkAccount,
  conflict,
  insertAccount,
  newInviteCode,
  readAccount,
  readName,
} from "./account.ts";
import { givenByHand } from "./group_grants.ts";
import type { Role } from "./roles.ts";
import { containing, isLike, isNamed, textsOf } from "../../ground/sql/mod.ts";

/** The name of an account: that of a pool is its team's, under whatever name that is known now. */
const NAME = `case when accounts.kind = 'pool' then coalesce(
    (select 'Pool of ' || teams.name from teams where teams.pool_id = accounts.id), accounts.name
  ) else accounts.name end`;
const COLUMNS = `id, email, ${NAME} as name, kind, role, created_at_ms, disabled_at_ms`;
const IS_AFTER = "(created_at_ms, id) > (select created_at_ms, id from accounts where id = ?)";
const IS_FOUND = isLike(`(email || ' ' || ${NAME})`);
const BY_EMAIL = `select ${COLUMNS} from accounts where ${isNamed("email", "?1")}`;
const ALL = `select ${COLUMNS} from accounts order by created_at_ms, id`;
const OWNER = `select ${COLUMNS} from accounts where role = 'owner'
  order by disabled_at_ms is not null, created_at_ms, id limit 1`;
const BY_INVITE_CODE = `select ${COLUMNS} from accounts where invite_code = ?`;
const INVITE_CODE = "select invite_code from accounts where id = ?";
/** Holds for an account that is not the last active owner's. */
const NOT_LAST_OWNER = `(role <> 'owner' or exists (
    select 1 from accounts as others
    where others.role = 'owner' and others.disabled_at_ms is null and others.id <> accounts.id
  ))`;
const DISABLE = `update accounts set disabled_at_ms = ?
  where id = ? and disabled_at_ms is null and ${NOT_LAST_OWNER}`;
const SET_ROLE = `update accounts set role = ?
  where id = ? and kind <> 'pool' and (? = 'owner' and disabled_at_ms is null and kind = 'person'
    or ? <> 'owner' and ${NOT_LAST_OWNER}) returning id`;

/** Creates, finds and disables accounts. */
export class Accounts {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * Creates an account.
   *
   * @param account Email address, display name, kind (`person` by default), role (`none` by default), and the ID of the
   *   inviter.
   * @param also Returns statements to run in the same transaction.
   * @throws {AccountError} If the email address or name is invalid, or the address is in use.
   */
  async create(
    { id = newId("acc"), email, name = "", kind = "person", role = "none", invitedBy = null }: {
      /** Default: a new one. */
      readonly id?: string | undefined;
      readonly email: string;
      readonly name?: string;
      readonly kind?: "person" | "service";
      readonly role?: Role;
      readonly invitedBy?: string | null;
    },
    also: (account: Account) => readonly Statement[] = () => [],
  ): Promise<Account> {
    checkAccount({ email, name });
    const account: Account = {
      id,
      email: email.toLowerCase(),
      name: readName(name),
      kind,
      role,
      createdAtMs: this.#now(),
      disabledAtMs: null,
    };
    try {
      await this.#database.batch([insertAccount(account, invitedBy), ...also(account)]);
    } catch (error) {
      if (error instanceof DatabaseError && error.isDuplicate) {
        throw conflict(`Account ${account.email} already exists`, { cause: error });
      }
      throw error;
    }
    return account;
  }

  /**
   * Finds an account.
   *
   * @param email Email address; case does not matter.
   */
  async find(email: string): Promise<Account | undefined> {
    return await this.#one(BY_EMAIL, [email]);
  }

  /**
   * Gets an account.
   *
   * @param email Email address; case does not matter.
   * @throws {AccountError} If the account does not exist.
   */
  async get(email: string): Promise<Account> {
    const account = await this.find(email);
    if (account === undefined) {
      throw new AccountError(
        `Account ${JSON.stringify(email)} not found. List accounts with: sluice account list`,
        { fault: "missing" },
      );
    }
    return account;
  }

  /**
   * Lists the accounts whose invite code was used.
   *
   * @returns Accounts, oldest first.
   */
  async inviters(): Promise<Account[]> {
    const rows = await this.#database.all(
      `select ${COLUMNS} from accounts
        where id in (select invited_by from accounts where invited_by is not null)
        order by created_at_ms, id`,
    );
    return rows.map(readAccount);
  }

  /** Finds an account by its invite code. */
  async byInviteCode(code: string): Promise<Account | undefined> {
    return await this.#one(BY_INVITE_CODE, [code]);
  }

  /**
   * Gets an account's invite code. The first call creates it.
   *
   * @returns 12 letters and digits.
   */
  async inviteCode(account: Account): Promise<string> {
    const known = await this.#database.one(INVITE_CODE, [account.id]);
    if (typeof known?.invite_code === "string") return known.invite_code;
    await this.#database.batch([{
      sql: "update accounts set invite_code = ? where id = ? and invite_code is null",
      args: [newInviteCode(), account.id],
    }]);
    return String((await this.#database.one(INVITE_CODE, [account.id]))!.invite_code);
  }

  /**
   * Finds the owner's account: of several, the oldest that is not disabled.
   *
   * @returns The account, or `undefined` before the first start.
   */
  async owner(): Promise<Account | undefined> {
    return await this.#one(OWNER);
  }

  /**
   * Finds the account that was created first: that of the installation's first owner.
   *
   * @returns The account, or `undefined` before the first start.
   */
  async first(): Promise<Account | undefined> {
    return await this.#one(`${ALL} limit 1`);
  }

  /**
   * Gives an account a role, and takes the one that it had.
   *
   * @throws {AccountError} If the account does not exist, is the last active owner's or a team's pool, or would become an
   *   owner though it is disabled or not a person's.
   */
  async setRole(email: string, role: Role): Promise<Account> {
    const account = await this.get(email);
    const [changed] = await this.#database.batch([
      { sql: SET_ROLE, args: [role, account.id, role, role] },
      givenByHand(account.id, "role", "role"),
    ]);
    if (changed!.length > 0) return await this.get(email);
    throw conflict(
      account.kind === "pool"
        ? `${account.email} is the pool of a team: it cannot have a role`
        : account.kind !== "person"
        ? `${account.email} is not a person: only people can be owners`
        : role === "owner"
        ? `Account ${account.email} is disabled: enable it first`
        : `${account.email} is the last owner: make another account an owner first`,
    );
  }

  /** Finds an account by its ID. */
  async byId(id: string): Promise<Account | undefined> {
    return await this.#one(`select ${COLUMNS} from accounts where id = ?`, [id]);
  }

  /**
   * Gives an account another display name.
   *
   * @throws {AccountError} If the name is invalid, or the account does not exist or is a team's pool.
   */
  async rename(email: string, name: string): Promise<Account> {
    const read = readName(name);
    const account = await this.get(email);
    if (account.kind === "pool") {
      throw new AccountError(`${account.email} is the pool of a team: rename the team instead`);
    }
    await this.#database.batch([
      { sql: "update accounts set name = ? where id = ?", args: [read, account.id] },
    ]);
    return await this.get(email);
  }

  /**
   * Lists accounts in the order in which they were created.
   *
   * @param filter Part of an email address or name (case does not matter), a role and a kind; the ID of the last account
   *   of the page before; max number of accounts.
   * @returns Accounts, oldest first, without pools of teams unless their kind, or `any`, is asked for.
   */
  async page(
    { search = "", role, kind, disabled, after, limit }: {
      readonly search?: string | undefined;
      readonly role?: Role | undefined;
      readonly kind?: Account["kind"] | "any" | undefined;
      readonly disabled?: boolean | undefined;
      readonly after?: string | undefined;
      readonly limit: number;
    },
  ): Promise<Account[]> {
    const clauses: readonly (readonly [sql: string, ...args: (string | number)[]])[] = [
      [IS_FOUND, containing(tidyName(search))],
      ...(role === undefined ? [] : [["role = ?", role] as const]),
      kind === undefined ? ["kind <> 'pool'"] : ["? in (kind, 'any')", kind],
      ...(disabled === undefined
        ? []
        : [[`disabled_at_ms is ${disabled ? "not null" : "null"}`] as const]),
      ...(after === undefined ? [] : [[IS_AFTER, after] as const]),
    ];
    const rows = await this.#database.all(
      `select ${COLUMNS} from accounts where ${clauses.map(([sql]) => sql).join(" and ")}
        order by created_at_ms, id limit ?`,
      [...clauses.flatMap(([, ...args]) => args), limit],
    );
    return rows.map(readAccount);
  }

  /**
   * Finds accounts by their IDs.
   *
   * @returns Those that there are, by ID.
   */
  async byIds(ids: readonly string[]): Promise<ReadonlyMap<string, Account>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#database.all(
      `select ${COLUMNS} from accounts where id in ${textsOf()}`,
      [JSON.stringify(ids)],
    );
    return new Map(rows.map(readAccount).map((account) => [account.id, account]));
  }

  /**
   * Lists all accounts.
   *
   * @returns Accounts, oldest first.
   */
  async list(): Promise<Account[]> {
    return (await this.#database.all(ALL)).map(readAccount);
  }

  /**
   * Enables a disabled account: its keys work again. Its earlier sessions and sign-in links stay ended.
   *
   * @throws {AccountError} If the account does not exist.
   */
  async enable(email: string): Promise<Account> {
    const account = await this.get(email);
    await this.#database.batch([
      // older versions did not end them when an account was disabled
      ...endAccess(account),
      { sql: "update accounts set disabled_at_ms = null where id = ?", args: [account.id] },
    ]);
    return await this.get(email);
  }

  /**
   * Disables an account: rejects its keys, and ends its sessions and sign-in links.
   *
   * @throws {AccountError} If the account does not exist, is the last active owner's, or a team's pool.
   */
  async disable(email: string): Promise<Account> {
    const account = await this.get(email);
    if (account.kind === "pool") {
      throw new AccountError(`${account.email} is the pool of a team: disable the team instead`);
    }
    await this.#database.batch([
      { sql: DISABLE, args: [this.#now(), account.id] },
      ...endAccess(account),
    ]);
    const disabled = await this.get(email);
    if (disabled.disabledAtMs !== null) return disabled;
    throw conflict(
      "The last owner's account cannot be disabled: revoke its keys instead, or make another account an owner first",
    );
  }

  async #one(sql: string, args: readonly string[] = []): Promise<Account | undefined> {
    const row = await this.#database.one(sql, args);
    return row === undefined ? undefined : readAccount(row);
  }
}

/** Returns statements that end all sessions and sign-in links of an account, if it is disabled. */
function endAccess({ id }: Account): Statement[] {
  const whose = `where account_id in
    (select id from accounts where id = ? and disabled_at_ms is not null)`;
  return [
    { sql: `delete from sessions ${whose}`, args: [id] },
    { sql: `delete from sign_in_links ${whose}`, args: [id] },
  ];
}
