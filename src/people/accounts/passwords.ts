import { Buffer } from "node:buffer";
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import type { Condition, Database, Statement } from "../../ground/database/mod.ts";
import { type Account, AccountError, conflict } from "./account.ts";

/** The parameters of scrypt: memory is `N` × `r` × 128 bytes, time is `N` × `r` × `p`. */
export interface PasswordCost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

/**
 * scrypt with 32 MB and three lanes: one of the equivalent settings of the OWASP Password Storage Cheat Sheet. The
 * platform computes it off the serving thread.
 */
const COST: PasswordCost = { N: 32_768, r: 8, p: 3 };
const MAX_MEMORY_BYTES = 64 * 1_048_576;
const KEY_BYTES = 32;
const SALT_BYTES = 16;
/** Max hashes computed concurrently, so that sign-ins cannot exhaust memory. */
const AT_ONCE = 2;

const MIN_LENGTH = 10;
const MAX_LENGTH = 200;

/** Sets and checks passwords. Only hashes are stored. */
export class Passwords {
  readonly #database: Database;
  readonly #now: () => number;
  readonly #cost: PasswordCost;
  /** The hash of a password that nobody has: an account that does not exist takes as long to check. */
  readonly #nobody: string;
  readonly #onlyOwners: boolean;

  /**
   * @param cost What a hash costs to compute; tests pass less.
   * @param onlyOwners Whether passwords of others than owners count for nothing, and cannot be set.
   */
  constructor(
    database: Database,
    now: () => number,
    cost: PasswordCost = COST,
    onlyOwners = false,
  ) {
    this.#database = database;
    this.#now = now;
    this.#cost = cost;
    this.#onlyOwners = onlyOwners;
    this.#nobody = format(cost, `${"A".repeat(22)}==`, `${"A".repeat(43)}=`);
  }

  /** The same passwords by other rules: those of the settings as they are now. */
  under({ onlyOwners }: { readonly onlyOwners: boolean }): Passwords {
    return new Passwords(this.#database, this.#now, this.#cost, onlyOwners);
  }

  /** Whether an account may have and use a password. */
  mayUse({ role }: Pick<Account, "role">): boolean {
    return !this.#onlyOwners || role === "owner";
  }

  /** Returns whether an account has a password that it may use. */
  async isSet(account: Account): Promise<boolean> {
    return this.mayUse(account) && await this.#hashOf(account) !== undefined;
  }

  /**
   * Hashes a new password, for the transaction that sets it.
   *
   * @returns Makes the statement that sets or replaces the password of an account; it throws if that one may not have a password.
   * @throws {AccountError} If the password is too short or too long.
   */
  async hashed(password: string): Promise<(account: Pick<Account, "id" | "role">) => Statement> {
    checkPassword(password);
    const hash = await hashOf(password, this.#cost);
    return (account) => {
      if (!this.mayUse(account)) {
        throw conflict("Only owners sign in with a password here");
      }
      return {
        sql: `insert into passwords (account_id, hash, changed_at_ms) values (?, ?, ?)
          on conflict (account_id) do update set hash = excluded.hash,
            changed_at_ms = excluded.changed_at_ms`,
        args: [account.id, hash, this.#now()],
      };
    };
  }

  /**
   * Sets or replaces an account's password.
   *
   * @throws {AccountError} If the password is too short or too long.
   */
  async set(account: Account, password: string): Promise<void> {
    await this.#database.batch([(await this.hashed(password))(account)]);
  }

  /**
   * Checks a password, in the same time for unknown accounts.
   *
   * @param account The account, or `undefined` if the email address is unknown.
   * @param password The password to check.
   * @returns Whether the account exists, may use a password, has one, and it is this one.
   */
  async matches(account: Account | undefined, password: string): Promise<boolean> {
    const hash = account === undefined ? undefined : await this.#hashOf(account);
    const right = await isRight(password.slice(0, MAX_LENGTH), hash ?? this.#nobody);
    return right && account !== undefined && this.mayUse(account);
  }

  async #hashOf(account: Account): Promise<string | undefined> {
    const row = await this.#database.one("select hash from passwords where account_id = ?", [
      account.id,
    ]);
    return row === undefined ? undefined : String(row.hash);
  }
}

/** Holds for an account that has a password, whether or not the settings let it use one. */
export function hasPassword(accountId: string): Condition {
  return { sql: "exists (select 1 from passwords where account_id = ?)", args: [accountId] };
}

/**
 * Validates a new password.
 *
 * @throws {AccountError} If the password has fewer than 10 or more than 200 characters.
 */
export function checkPassword(password: string): void {
  if (password.length < MIN_LENGTH || password.length > MAX_LENGTH) {
    throw new AccountError(`The password must be ${MIN_LENGTH} to ${MAX_LENGTH} characters long`);
  }
}

async function hashOf(password: string, cost: PasswordCost): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(password, salt, cost);
  return format(cost, salt.toString("base64"), key.toString("base64"));
}

function format({ N, r, p }: PasswordCost, salt: string, key: string): string {
  return ["scrypt", N, r, p, salt, key].join("$");
}

async function isRight(password: string, hash: string): Promise<boolean> {
  const [, N, r, p, salt, key] = hash.split("$");
  const wanted = Buffer.from(key!, "base64");
  const cost = { N: Number(N), r: Number(r), p: Number(p) };
  return timingSafeEqual(wanted, await derive(password, Buffer.from(salt!, "base64"), cost));
}

let running = 0;
const waiting: (() => void)[] = [];

async function derive(password: string, salt: Buffer, cost: PasswordCost): Promise<Buffer> {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  running++;
  try {
    return await new Promise((resolve, reject) =>
      scrypt(
        password.normalize("NFKC"),
        salt,
        KEY_BYTES,
        { ...cost, maxmem: MAX_MEMORY_BYTES },
        (error, key) => error ? reject(error) : resolve(key as Buffer),
      )
    );
  } finally {
    running--;
    waiting.shift()?.();
  }
}
