import { clientTags, type HeaderLookup, type JsonValue } from "../../wire/dialects/mod.ts";
import { invalid } from "../../ground/refusal.ts";

/** Tags of a request: values by name. */
export type RequestTags = Readonly<Record<string, string>>;

/** The header that names them. */
const TAGS_HEADER = "X-Sluice-Tags";
/** Its name as headers are looked up. */
const LOOKED_UP = "x-sluice-tags";

const MAX_TAGS = 8;
const NAME = /^[a-z0-9_.-]{1,32}$/;
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e]{0,62}[\x21-\x7e])?$/;
const RIGHT = `Send tags as '${TAGS_HEADER}: project=alpha,env=ci'`;

/**
 * Reads the tags of a request: those of the header, and, where the header does not have them, what coding tools and SDKs
 * say of tool, session and user.
 *
 * @param header The request's headers.
 * @param body The request's body, in any dialect.
 * @param options Whether what clients say by other fields is read.
 * @returns Values by name; `undefined` for none.
 * @throws {Refusal} `request_invalid` saying what is wrong with the header.
 */
export function requestTags(
  header: HeaderLookup,
  body: JsonValue,
  { fromClients }: { readonly fromClients: boolean },
): RequestTags | undefined {
  const text = header(LOOKED_UP);
  const explicit = text === null ? undefined : parseTags(text);
  const implied = fromClients ? clientTags(header, body) : undefined;
  return implied === undefined ? explicit : { ...implied, ...explicit };
}

/**
 * Parses the header `X-Sluice-Tags`.
 *
 * @param text Such as `project=alpha,env=ci`. Spaces around names and values do not count.
 * @returns Values by name; `undefined` for none.
 * @throws {Refusal} `request_invalid` saying what is wrong.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { parseTags } from "./request_tags.ts";
 *
 * assertEquals(parseTags("project=alpha, env=ci"), { project: "alpha", env: "ci" });
 * ```
 */
export function parseTags(text: string): RequestTags | undefined {
  if (text.trim() === "") return undefined;
  const tags = new Map<string, string>();
  for (const part of text.split(",", MAX_TAGS + 1)) {
    if (tags.size === MAX_TAGS) {
      throw invalid(TAGS_HEADER, `Too many tags: the limit is ${MAX_TAGS} per request.`);
    }
    const [name, value] = parseTag(part.trim());
    if (tags.has(name)) {
      throw invalid(TAGS_HEADER, `Tag '${name}' is given twice. Send each tag once.`);
    }
    tags.set(name, value);
  }
  return Object.fromEntries(tags);
}

function parseTag(part: string): [name: string, value: string] {
  const at = part.indexOf("=");
  if (at < 0) {
    throw invalid(TAGS_HEADER, `Invalid tag ${shown(part)}: it has no value. ${RIGHT}.`);
  }
  const name = part.slice(0, at).trim();
  const value = part.slice(at + 1).trim();
  if (!NAME.test(name)) {
    throw invalid(
      TAGS_HEADER,
      `Invalid tag name ${
        shown(name)
      }: use 1 to 32 of the characters a-z, 0-9, '_', '.' and '-'. ${RIGHT}.`,
    );
  }
  if (!VALUE.test(value)) {
    throw invalid(
      TAGS_HEADER,
      `Invalid value of tag '${name}': use 1 to 64 printable ASCII characters without commas. ${RIGHT}.`,
    );
  }
  return [name, value];
}

/** A text of the client in an error message. */
function shown(text: string): string {
  return `'${text.slice(0, 40).replace(/[^\x20-\x7e]/g, "?")}'`;
}
