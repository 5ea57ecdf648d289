import { z } from "zod";
import { type Database, DatabaseError, type Row, type Statement } from "../database/mod.ts";
import { displayed, misleading } from "../names.ts";
import { newId, randomText } from "../ids.ts";

const accountRow = z.object({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  role: z.enum(["owner", "user"]),
  created_at_ms: z.int(),
  disabled_at_ms: z.int().nullable(),
}).transform((row) => ({
  id: row.id,
  email: row.email,
  name: displayed(row.name),
  role: row.role,
  createdAtMs: row.created_at_ms,
  disabledAtMs: row.disabled_at_ms,
}));

/** Somebody who uses the gateway. */
export type Account = z.output<typeof accountRow>;

/** Thrown for a command that cannot be carried out as asked; the message is for people. */
export class AccountError extends Error {
  override readonly name = "AccountError";
}

const COLUMNS = "id, email, name, role, created_at_ms, disabled_at_ms";
const BY_EMAIL = `select ${COLUMNS} from accounts where email = ?`;
const ALL = `select ${COLUMNS} from accounts order by created_at_ms, id`;
const OWNER = `select ${COLUMNS} from accounts where role = 'owner' order by created_at_ms limit 1`;
const BY_INVITE_CODE = `select ${COLUMNS} from accounts where invite_code = ?`;
const INVITE_CODE = "select invite_code from accounts where id = ?";
const INSERT = `insert into accounts (${COLUMNS}, invite_code, invited_by)
  values (?, ?, ?, ?, ?, null, ?, ?)`;
const DISABLE =
  "update accounts set disabled_at_ms = ? where id = ? and disabled_at_ms is null and role <> 'owner'";

/** Long enough that nobody guesses one, short enough to be read out. */
const INVITE_CODE_LENGTH = 12;

const emailAddress = z.email().or(z.literal("owner@localhost"));

/** Accounts, by email address. */
export class Accounts {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * Creates an account. Throws {@linkcode AccountError} for a bad or a used address.
   *
   * @param also Statements of the same transaction.
   */
  async create(
    { email, name = "", role = "user", invitedBy = null }: {
      readonly email: string;
      readonly name?: string;
      readonly role?: "owner" | "user";
      readonly invitedBy?: string | null;
    },
    also: (account: Account) => readonly Statement[] = () => [],
  ): Promise<Account> {
    checkAccount({ email, name });
    const account: Account = {
      id: newId("acc"),
      email: email.toLowerCase(),
      name,
      role,
      createdAtMs: this.#now(),
      disabledAtMs: null,
    };
    try {
      await this.#database.batch([insertAccount(account, invitedBy), ...also(account)]);
    } catch (error) {
      if (error instanceof DatabaseError && error.isDuplicate) {
        throw new AccountError(`Account ${account.email} already exists`, { cause: error });
      }
      throw error;
    }
    return account;
  }

  /** The account of an email address. */
  async find(email: string): Promise<Account | undefined> {
    const row = await this.#database.one(BY_EMAIL, [email]);
    return row === undefined ? undefined : readAccount(row);
  }

  /** The account of an email address. Throws {@linkcode AccountError} when there is none. */
  async get(email: string): Promise<Account> {
    const account = await this.find(email);
    if (account === undefined) {
      throw new AccountError(
        `Account ${JSON.stringify(email)} not found. List accounts with: sluice account list`,
      );
    }
    return account;
  }

  /** Accounts whose invite code was used. */
  async inviters(): Promise<Account[]> {
    const rows = await this.#database.all(
      `select ${COLUMNS} from accounts
        where id in (select invited_by from accounts where invited_by is not null)
        order by created_at_ms, id`,
    );
    return rows.map(readAccount);
  }

  /** The account whose invite code it is. */
  async byInviteCode(code: string): Promise<Account | undefined> {
    const row = await this.#database.one(BY_INVITE_CODE, [code]);
    return row === undefined ? undefined : readAccount(row);
  }

  /** An account's invite code. */
  async inviteCode(account: Account): Promise<string> {
    const known = await this.#database.one(INVITE_CODE, [account.id]);
    if (typeof known?.invite_code === "string") return known.invite_code;
    await this.#database.batch([{
      sql: "update accounts set invite_code = ? where id = ? and invite_code is null",
      args: [randomText(INVITE_CODE_LENGTH), account.id],
    }]);
    return String((await this.#database.one(INVITE_CODE, [account.id]))!.invite_code);
  }

  /** The owner's account, once there is one. */
  async owner(): Promise<Account | undefined> {
    const row = await this.#database.one(OWNER);
    return row === undefined ? undefined : readAccount(row);
  }

  /** The account of an id. */
  async byId(id: string): Promise<Account | undefined> {
    const row = await this.#database.one(`select ${COLUMNS} from accounts where id = ?`, [id]);
    return row === undefined ? undefined : readAccount(row);
  }

  /** Accounts whose address or name holds a text, oldest first. */
  async search(text: string, limit: number): Promise<Account[]> {
    const rows = await this.#database.all(
      `select ${COLUMNS} from accounts where instr(lower(email || ' ' || name), lower(?)) > 0
        order by created_at_ms, id limit ?`,
      [text, limit],
    );
    return rows.map(readAccount);
  }

  /** Every account, oldest first. */
  async list(): Promise<Account[]> {
    return (await this.#database.all(ALL)).map(readAccount);
  }

  /** Takes the account's keys again. Sessions and sign-in links from before stay ended. */
  async enable(email: string): Promise<Account> {
    const account = await this.get(email);
    await this.#database.batch([
      // programs of before did not end them when they disabled an account
      ...endAccess(account),
      { sql: "update accounts set disabled_at_ms = null where id = ?", args: [account.id] },
    ]);
    return await this.get(email);
  }

  /**
   * Refuses the account's keys from now on, and ends its sessions and sign-in links. The owner cannot be
   * disabled.
   */
  async disable(email: string): Promise<Account> {
    const account = await this.get(email);
    if (account.role === "owner") {
      throw new AccountError("The owner's account cannot be disabled: revoke its keys instead");
    }
    await this.#database.batch([
      { sql: DISABLE, args: [this.#now(), account.id] },
      ...endAccess(account),
    ]);
    return await this.get(email);
  }
}

/** Throws {@linkcode AccountError} for a bad address or a name that is too long. */
export function checkAccount({ email, name }: { email: string; name: string }): void {
  mustNotMislead("email address", email);
  if (email.length > 254 || !emailAddress.safeParse(email).success) {
    throw new AccountError(
      `Invalid email address ${JSON.stringify(email.slice(0, 300))}`,
    );
  }
  checkName(name);
}

/** @throws {AccountError} for a text that would show as something else than it is. */
export function mustNotMislead(what: string, text: string): void {
  const why = misleading(text);
  if (why !== undefined) throw new AccountError(`The ${what} ${why}`);
}

/** @throws {AccountError} for a name that is too long or would show as something else than it is. */
export function checkName(name: string): void {
  if (name.length > 200) {
    throw new AccountError(`Name too long: ${name.length} characters, the limit is 200`);
  }
  mustNotMislead("name", name);
}

/** Statements that end every session and sign-in link of an account that is disabled. */
function endAccess({ id }: Account): Statement[] {
  return ["sessions", "sign_in_links"].map((table) => ({
    sql: `delete from ${table} where account_id in
      (select id from accounts where id = ? and disabled_at_ms is not null)`,
    args: [id],
  }));
}

/** The statement that creates `account`. */
function insertAccount(account: Account, invitedBy: string | null): Statement {
  const { id, email, name, role, createdAtMs } = account;
  const code = randomText(INVITE_CODE_LENGTH);
  return { sql: INSERT, args: [id, email, name, role, createdAtMs, code, invitedBy] };
}

/** A row of the table as an account. */
export function readAccount(row: Row): Account {
  return accountRow.parse(row);
}
