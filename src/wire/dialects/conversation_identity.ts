import { createHash, type Hash } from "node:crypto";
import type { HeaderLookup } from "./dialect.ts";
import { isObject, items, type JsonObject, type JsonValue, text } from "./json.ts";
import { CACHE_MARKS } from "./neutral/cache_marks.ts";

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
  const turns = turnsOf(body);
  const budget = { values: MAX_VALUES };
  feed(hash, "beginning");
  feedLeaves(hash, body.system ?? body.instructions, budget);
  feedLeaves(hash, body.tools, budget);
  for (const turn of turns) {
    feedLeaves(hash, withoutMarks(turn), budget);
    if (roleOf(turn) === "user") break;
  }
  return { id: digest(hash), begins: !turns.some(isReply) };
}

/** The messages, or the items of an input; a text is one of the user's. */
function turnsOf({ messages, input }: JsonObject): readonly JsonValue[] {
  if (messages === undefined && typeof input === "string") {
    return [{ role: "user", content: input }];
  }
  return items(messages ?? input);
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

/** Kinds of items that come before a conversation has begun. */
const SETTINGS = ["additional_tools", "configuration_update", "compaction_trigger"];

/** Whether a message or an item shows that the model has replied: items without a role are its reasoning, calls and the like. */
function isReply(turn: JsonValue): boolean {
  const role = roleOf(turn);
  if (role !== undefined) return role === "assistant" || role === "tool";
  return isObject(turn) && !SETTINGS.includes(text(turn.type) ?? "");
}

/** A message without what SDKs add to it when they send it again: an id, a state, a kind that goes without saying. */
function withoutMarks(turn: JsonValue): JsonValue {
  if (!isObject(turn) || text(turn.role) === undefined) return turn;
  const { id: _, status: __, ...rest } = turn;
  if (rest.type === "message") delete rest.type;
  return rest;
}

/** Kinds of content parts whose text is the same as a text by itself. */
const TEXT_KINDS = ["text", "input_text", "output_text"];

/**
 * Hashes the texts and numbers in a value. Marks for prompt caches move from turn to turn, and so does whether a text is
 * by itself or the only block of a list; neither counts.
 */
function feedLeaves(hash: Hash, value: JsonValue | undefined, budget: { values: number }): void {
  if (budget.values-- <= 0 || value === undefined || value === null) return;
  if (Array.isArray(value)) {
    for (const one of value) feedLeaves(hash, one, budget);
  } else if (isObject(value)) {
    const isText = TEXT_KINDS.includes(text(value.type) ?? "");
    for (const [key, one] of Object.entries(value)) {
      if (CACHE_MARKS.includes(key) || isText && key === "type") continue;
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
