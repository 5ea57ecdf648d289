import * as z from "zod";
import { insertOf, rowOf, shownText } from "../../ground/row.ts";
import type { Row, Statement } from "../../ground/database/mod.ts";
import { misleading, randomText, tidyName, whyNoName } from "../../ground/platform/mod.ts";
import { ROLES } from "./roles.ts";

const accountRow = rowOf({
  id: z.string(),
  email: z.string(),
  name: shownText,
  /** A person signs in to the console; a service does not; a pool pays for the keys of a team. */
  kind: z.enum(["person", "service", "pool"]),
  role: z.enum(ROLES),
  created_at_ms: z.int(),
  disabled_at_ms: z.int().nullable(),
});

/** A person or service that uses the gateway, or the pool of a team: it has credits. Times are in milliseconds since the epoch. */
export type Account = z.output<typeof accountRow>;

/** Why something cannot be carried out: a value is invalid, what it is about does not exist, or its state forbids it. */
export type AccountFault = "invalid" | "missing" | "conflict";

/** Thrown if a command or form cannot be carried out. The message is shown to the user, without a final full stop. */
export class AccountError extends Error {
  override readonly name = "AccountError";
  readonly fault: AccountFault;

  constructor(message: string, { fault = "invalid", ...options }: ErrorOptions & {
    readonly fault?: AccountFault;
  } = {}) {
    super(message, options);
    this.fault = fault;
  }
}

/** What is thrown if the state of what something is about forbids it. */
export function conflict(message: string, options?: ErrorOptions): AccountError {
  return new AccountError(message, { ...options, fault: "conflict" });
}

/** Long enough to be unguessable, short enough to be read out. */
const INVITE_CODE_LENGTH = 12;

/** Returns a new invite code: 12 letters and digits. */
export function newInviteCode(): string {
  return randomText(INVITE_CODE_LENGTH);
}

const emailAddress = z.email().or(z.literal("owner@localhost"));

/**
 * Validates the email address and name of a new account.
 *
 * @throws {AccountError} If the address is invalid, or one of them is too long or misleading.
 */
export function checkAccount({ email, name }: { email: string; name: string }): void {
  mustNotMislead("email address", email);
  if (email.length > 254 || !emailAddress.safeParse(email).success) {
    throw new AccountError(
      `Invalid email address ${JSON.stringify(email.slice(0, 300))}`,
    );
  }
  readName(name);
}

/** What an account is called in lists: by its address; a pool, whose address is made of its team's ID, by its name. */
export function labelOf({ kind, name, email }: Pick<Account, "kind" | "name" | "email">): string {
  return kind === "pool" && name !== "" ? name : email;
}

/**
 * Rejects text that would be displayed as something else: control, bidirectional and zero-width characters.
 *
 * @param what Name of the text for the message: `email address`.
 * @throws {AccountError} If the text contains such a character.
 */
export function mustNotMislead(what: string, text: string): void {
  const why = misleading(text);
  if (why !== undefined) throw new AccountError(`The ${what} ${why}`);
}

/**
 * Reads the name of an account, key or team, as forms, commands, the API and importers have it: trimmed and normalized.
 *
 * @returns The name; empty if there is none.
 * @throws {AccountError} If the name is longer than 200 characters, misleading, or shows nothing.
 */
export function readName(text: string): string {
  const name = tidyName(text);
  const why = whyNoName(name);
  if (why !== undefined) throw new AccountError(why);
  return name;
}

/** Returns the statement that creates `account`. */
export function insertAccount(account: Account, invitedBy: string | null = null): Statement {
  const { id, email, name, kind, role, createdAtMs, disabledAtMs } = account;
  return insertOf("insert into accounts", {
    id,
    email,
    name,
    kind,
    role,
    createdAtMs,
    disabledAtMs,
    inviteCode: newInviteCode(),
    invitedBy,
  });
}

/** Converts a row of the table to an account. */
export function readAccount(row: Row): Account {
  return accountRow.parse(row);
}
