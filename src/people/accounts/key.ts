import * as z from "zod";
import { columnsIn, insertOf, jsonText, rowOf, shownText } from "../../ground/row.ts";
import {
  type Condition,
  type Database,
  DatabaseError,
  type Row,
  type Statement,
} from "../../ground/database/mod.ts";
import { type Account, AccountError, readName } from "./account.ts";
import { digestOf, newId, randomText } from "../../ground/platform/mod.ts";

/**
 * What a key may be used for. `inference`: requests to models; `read` and `admin`: the operator's HTTP API; `scim`: the API by which a
 * company's directory sends people and groups, and nothing else.
 */
export const SCOPES = ["inference", "admin", "read", "scim"] as const;
/** One of {@linkcode SCOPES}. */
export type Scope = typeof SCOPES[number];

const scopeList = z.array(z.enum(SCOPES));

/** Reads the scopes of a row of the table. */
export function readScopes(text: string): readonly Scope[] {
  return scopeList.parse(JSON.parse(text));
}

const keyRow = rowOf({
  id: z.string(),
  /** The account that pays. It, the team and the member never change. */
  account_id: z.string(),
  name: shownText,
  /** First and last characters of the key, to tell keys apart. */
  hint: z.string(),
  models: jsonText(z.array(z.string())).nullable(),
  budget_credits: z.int().nullable(),
  created_at_ms: z.int(),
  expires_at_ms: z.int().nullable(),
  revoked_at_ms: z.int().nullable(),
  team_id: z.string().nullable(),
  /** Account of the team's member that the key was made for; `null` for a key of the whole team, and outside of teams. */
  member_id: z.string().nullable(),
  scopes: z.string().transform(readScopes),
  /** Until when the secret that the key had before is valid; `null` if it was never rotated. */
  previous_until_ms: z.int().nullable(),
  /** Max requests in flight at once; `null` for any number. */
  at_once: z.int().nullable(),
});

/** An API key without its secret, of which only the digest is stored. Times are in milliseconds since the epoch. */
export type Key = z.output<typeof keyRow>;

/** Columns that {@linkcode readKey} reads. */
export const KEY_COLUMNS = columnsIn(keyRow);

/** 100 years. */
const LONGEST_MS = 36_525 * 86_400_000;

/**
 * Format of API keys: `sk-` and 16 to 200 letters, digits, `_` or `-`. Keys that Sluice issues have 43; those that other
 * gateways issued may be shorter (LiteLLM: 22).
 */
export const KEY_PATTERN = /^sk-[A-Za-z0-9_-]{16,200}$/;

/** What a key is stored by that another gateway issued; `undefined` if it cannot be used here. */
export function importedKey(secret: string): { hex: string; hint: string } | undefined {
  return KEY_PATTERN.test(secret) ? { hex: digestOf(secret), hint: hintOf(secret) } : undefined;
}

/** Name and restrictions of a new key. */
export interface KeyOptions {
  /** ID from {@linkcode newKeyId}, which makes issuing idempotent. Default: a new one. */
  readonly id?: string | undefined;
  /** Default: a random one. */
  readonly secret?: string | undefined;
  readonly name?: string | undefined;
  readonly expiresAtMs?: number | undefined;
  /** Route IDs that the key may use. Default: all. */
  readonly models?: readonly string[] | undefined;
  /** Total credits that the key may spend. Default: no limit. */
  readonly budgetCredits?: number | undefined;
  /** Max requests in flight at once. Default: any number. */
  readonly atOnce?: number | undefined;
  /** What the key may be used for. Default: `inference`. */
  readonly scopes?: readonly Scope[] | undefined;
}

/** Thrown if the ID of a new key is already in use. */
export class DuplicateKey extends AccountError {
  constructor(message: string) {
    super(message, { fault: "conflict" });
  }
}

/** @throws {AccountError} If the ID, name or expiry of a key is invalid. */
export function checkKeyOptions({ id, name = "", expiresAtMs }: KeyOptions, now: number): void {
  readName(name);
  if (expiresAtMs !== undefined && expiresAtMs <= now) {
    throw new AccountError("The expiry of a key must be in the future");
  }
  if (expiresAtMs !== undefined && expiresAtMs > now + LONGEST_MS) {
    throw new AccountError("The expiry of a key must be within 100 years");
  }
  if (id !== undefined && !KEY_ID.test(id)) throw new AccountError("Invalid key ID");
}

/**
 * Runs the statements that create a key.
 *
 * @throws {DuplicateKey} If the key or its ID exists.
 */
export async function insertKeys(
  database: Database,
  statements: readonly Statement[],
): Promise<readonly (readonly Row[])[]> {
  try {
    return await database.batch(statements);
  } catch (error) {
    if (!(error instanceof DatabaseError && error.isDuplicate)) throw error;
    throw new DuplicateKey("Key ID already exists");
  }
}

/** Makes the secret of a key. */
export function newSecret(): string {
  return `sk-${randomText(43)}`;
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

/** Returns the first and last characters of a secret. */
export function hintOf(secret: string): string {
  return `${secret.slice(0, 6)}…${secret.slice(-4)}`;
}

/** Returns a key that is still to be stored. */
export function newKey(
  account: Pick<Account, "id">,
  secret: string,
  nowMs: number,
  options: KeyOptions,
): Key {
  return {
    id: options.id ?? newKeyId(),
    accountId: account.id,
    teamId: null,
    memberId: null,
    name: readName(options.name ?? ""),
    hint: hintOf(secret),
    models: options.models === undefined ? null : [...options.models],
    budgetCredits: options.budgetCredits ?? null,
    createdAtMs: nowMs,
    expiresAtMs: options.expiresAtMs ?? null,
    revokedAtMs: null,
    scopes: [...new Set(options.scopes ?? ["inference" as const])],
    previousUntilMs: null,
    atOnce: options.atOnce ?? null,
  };
}

/** Returns the statement that stores `key`, if a condition holds; its row is the ID. */
export function insertKey(
  key: Key,
  digest: string,
  { source = "issued", onlyIf }: {
    readonly source?: "issued" | "environment";
    readonly onlyIf?: Condition;
  } = {},
): Statement {
  const models = key.models && JSON.stringify(key.models);
  const row = { ...key, models, scopes: JSON.stringify(key.scopes), digest, source };
  return insertOf("insert into keys", row, { onlyIf, then: "returning id" });
}

/** Converts a row of the table to a key. */
export function readKey(row: Row): Key {
  return keyRow.parse(row);
}
