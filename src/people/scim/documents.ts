import * as z from "zod";
import { type Attributes, isObject, listOf, nameIn, spelt, valueOf } from "./attributes.ts";
import { ScimError } from "./error.ts";

/** A user as a directory sends it. */
export interface UserDocument {
  readonly userName: string;
  readonly externalId: string | null;
  readonly active: boolean;
  /** An address in lower case, for the account: the first of the primary one, the one for work, any, and the user's name. */
  readonly email: string | undefined;
  /** What the account is called; empty if nothing is sent. */
  readonly name: string;
  /** All that was sent, except for what is above and what only the gateway writes. */
  readonly attributes: Attributes;
}

/** A group as a directory sends it. */
export interface GroupDocument {
  readonly displayName: string;
  readonly externalId: string | null;
  /** IDs of users. */
  readonly members: readonly string[];
}

const MAX_ATTRIBUTES_CHARS = 32 * 1_024;
const MAX_MEMBERS = 10_000;
/** What is kept in columns of its own, written by the gateway, or a secret. */
const NOT_KEPT: readonly string[] = [
  ...["schemas", "id", "meta", "groups", "userName", "externalId", "active"],
  "password",
];
const address = z.email().max(254);

/**
 * Reads a user, of a request or as it is after a PATCH.
 *
 * @param isActive Whether it is active if that is not sent.
 * @throws {ScimError} `invalidValue`.
 */
export function readUser(sent: Attributes, isActive = true): UserDocument {
  const attributes = Object.fromEntries(
    Object.entries(sent).flatMap(([name, value]) =>
      value === null || name === "__proto__" || NOT_KEPT.includes(spelt(name))
        ? []
        : [[spelt(name), value]]
    ),
  );
  if (JSON.stringify(attributes).length > MAX_ATTRIBUTES_CHARS) {
    throw invalid(`A user has up to ${MAX_ATTRIBUTES_CHARS} characters of attributes.`);
  }
  const userName = textOf(sent, "userName", 254);
  if (userName === undefined) throw invalid("userName is missing.");
  const emails = listOf(valueOf(sent, "emails")).filter(isObject)
    .map((one) => ({ ...one, primary: flagOf(valueOf(one, "primary"), "primary", false) }));
  if (emails.length > 0) attributes.emails = emails;
  const [primary, work] = [
    emails.find((one) => one.primary),
    emails.find((one) => String(valueOf(one, "type")).toLowerCase() === "work"),
  ];
  const addresses = [
    ...[primary, work, ...emails].map((one) => one && valueOf(one, "value")),
    userName,
  ];
  return {
    userName,
    externalId: textOf(sent, "externalId", 500) ?? null,
    active: flagOf(valueOf(sent, "active"), "active", isActive),
    email: addresses.map((one) => address.safeParse(one).data).find((one) => one !== undefined)
      ?.toLowerCase(),
    name: nameOf(sent),
    attributes,
  };
}

/** The attributes that a PATCH changes. */
export function userDocument(
  { userName, externalId, active, attributes }: Omit<UserDocument, "email" | "name">,
): Attributes {
  return { ...attributes, userName, ...(externalId !== null && { externalId }), active };
}

/** The attributes that a PUT sends, with the ID at the directory that there is if it sends none: Okta leaves it out. */
export function replaced({ externalId }: Attributes, sent: Attributes): Attributes {
  return Object.hasOwn(sent, nameIn(sent, "externalId")) ? sent : { ...sent, externalId };
}

/**
 * Reads a group, of a request or as it is after a PATCH.
 *
 * @throws {ScimError} `invalidValue`.
 */
export function readGroup(sent: Attributes): GroupDocument {
  const displayName = textOf(sent, "displayName", 500);
  if (displayName === undefined) throw invalid("displayName is missing.");
  const members = listOf(valueOf(sent, "members")).map((one) => {
    const value = isObject(one) ? valueOf(one, "value") : one;
    if (typeof value === "string") return value;
    throw invalid("Each member is an object with the ID of a user as its value.");
  });
  if (members.length > MAX_MEMBERS) throw invalid(`A group has up to ${MAX_MEMBERS} members.`);
  return {
    displayName,
    externalId: textOf(sent, "externalId", 500) ?? null,
    members: [...new Set(members)],
  };
}

/** The attributes that a PATCH changes. */
export function groupDocument({ displayName, externalId, members }: GroupDocument): Attributes {
  return {
    displayName,
    ...(externalId !== null && { externalId }),
    members: members.map((value) => ({ value })),
  };
}

function nameOf(sent: Attributes): string {
  const name = valueOf(sent, "name");
  const part = (of: string) => isObject(name) ? textOf(name, of, 200) : undefined;
  return textOf(sent, "displayName", 200) ?? part("formatted") ??
    [part("givenName"), part("familyName")].filter((one) => one !== undefined).join(" ");
}

function textOf(sent: Attributes, name: string, maxChars: number): string | undefined {
  const value = valueOf(sent, name);
  if (value === undefined) return undefined;
  if (typeof value !== "string") throw invalid(`${name} must be a text.`);
  const text = value.trim();
  if (text.length > maxChars) throw invalid(`${name} has up to ${maxChars} characters.`);
  return text === "" ? undefined : text;
}

/** A boolean, which Entra may send as a text. */
function flagOf(value: unknown, name: string, otherwise: boolean): boolean {
  if (value === undefined) return otherwise;
  const flag = { true: true, false: false }[String(value).toLowerCase()];
  if (flag === undefined || typeof value === "object") {
    throw invalid(`${name} must be true or false.`);
  }
  return flag;
}

function invalid(message: string): ScimError {
  return new ScimError("invalidValue", message);
}
