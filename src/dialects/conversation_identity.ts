import { createHash, type Hash } from "node:crypto";
import type { HeaderLookup } from "./dialect.ts";
import { isObject, items, type JsonObject, type JsonValue, text } from "./json.ts";

/**
 * Headers by which coding tools name a session: Claude Code; Codex; opencode. The first that is there counts.
 */
const SESSION_HEADERS = [
  "x-claude-code-session-id",
  "session_id",
  "session-id",
  "thread-id",
  "x-opencode-session",
  "x-session-affinity",
  "x-session-id",
];

/** Characters of one text that are hashed, besides its length. */
const MAX_TEXT_CHARS = 4_096;
/** Values of a beginning that are hashed. */
const MAX_VALUES = 5_000;

/** What tells a conversation from others. */
export interface ConversationIdentity {
  /** A hash. */
  readonly id: string;
  /** Whether the request may begin the conversation: the client does not name it, and nothing in it is a reply. */
  readonly begins: boolean;
}

/**
 * Recognizes the conversation of a request: by the session that the client names in a header, in `prompt_cache_key` or
 * in `metadata.user_id`, else by how it begins, with system prompt, tools and first message of the user.
 *
 * @param scope What the identity holds for, such as an account and a route: others have other identities for the same.
 * @param header The request's headers.
 * @param body The request's body, in any dialect.
 * @returns A hash; nothing of the request can be read from it.
 */
export function identifyConversation(
  scope: readonly string[],
  header: HeaderLookup,
  body: JsonObject,
): ConversationIdentity {
  const hash = createHash("sha256");
  for (const part of scope) feed(hash, part);
  const session = namedSession(header, body);
  if (session !== undefined) {
    for (const part of session) feed(hash, part);
    return { id: digest(hash), begins: false };
  }
  const turns = items(body.messages ?? body.input);
  const budget = { values: MAX_VALUES };
  feed(hash, "beginning");
  feedLeaves(hash, body.system ?? body.instructions, budget);
  feedLeaves(hash, body.tools, budget);
  for (const turn of turns) {
    feedLeaves(hash, turn, budget);
    if (roleOf(turn) === "user") break;
  }
  return { id: digest(hash), begins: !turns.some((turn) => isReply(roleOf(turn))) };
}

function namedSession(header: HeaderLookup, body: JsonObject): [string, string] | undefined {
  for (const name of SESSION_HEADERS) {
    const value = header(name);
    if (value) return [name, value];
  }
  const cacheKey = text(body.prompt_cache_key);
  if (cacheKey) return ["prompt_cache_key", cacheKey];
  const user = isObject(body.metadata) ? text(body.metadata.user_id) : undefined;
  return user ? ["metadata.user_id", user] : undefined;
}

function roleOf(turn: JsonValue): string | undefined {
  return isObject(turn) ? text(turn.role) : undefined;
}

function isReply(role: string | undefined): boolean {
  return role === "assistant" || role === "tool";
}

/**
 * Hashes the texts and numbers in a value. Marks for prompt caches move from turn to turn, and so does whether a text is
 * by itself or the only block of a list; neither counts.
 */
function feedLeaves(hash: Hash, value: JsonValue | undefined, budget: { values: number }): void {
  if (budget.values-- <= 0 || value === undefined || value === null) return;
  if (Array.isArray(value)) {
    for (const one of value) feedLeaves(hash, one, budget);
  } else if (isObject(value)) {
    const isText = value.type === "text";
    for (const [key, one] of Object.entries(value)) {
      if (key === "cache_control" || isText && key === "type") continue;
      if (!(isText && key === "text")) hash.update(`${key}:`);
      feedLeaves(hash, one, budget);
    }
  } else feed(hash, String(value));
}

function feed(hash: Hash, part: string): void {
  hash.update(`${part.length}:`).update(part.slice(0, MAX_TEXT_CHARS));
}

function digest(hash: Hash): string {
  return hash.digest("base64").slice(0, 22);
}
