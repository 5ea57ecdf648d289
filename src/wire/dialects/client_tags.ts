import { displayed, jsonIn } from "../../ground/platform/mod.ts";
import type { HeaderLookup } from "./dialect.ts";
import { isObject, type JsonObject, type JsonValue, text } from "./json.ts";

/** What a client says of who sends a request, and from where. */
export type ClientTags = Readonly<Partial<Record<"tool" | "session" | "user", string>>>;

/** Tools by how their `User-Agent` begins. */
const TOOLS = [
  { agent: /^claude-cli\//i, tool: "claude-code", session: ["x-claude-code-session-id"] },
  { agent: /^codex/i, tool: "codex", session: ["session-id", "session_id", "thread-id"] },
  {
    agent: /^opencode\//i,
    tool: "opencode",
    session: ["x-opencode-session", "x-session-affinity", "x-session-id"],
  },
] as const;

const MAX_CHARS = 64;
/** A `metadata.user_id` that is longer is not looked into. */
const MAX_USER_ID_CHARS = 2_000;

/** `user_HASH_account_ID_session_ID`, as Claude Code wrote it before it wrote JSON. */
const CLAUDE_USER = /^user_([^_]+)_account_([^_]*)_session_([^_]+)$/;

/**
 * Reads the identifiers that clients send: the tool by its `User-Agent` or `X-App`, its session, and the user of OpenAI's
 * fields `safety_identifier` and `user` or of `metadata.user_id`. Never what the request says to the model.
 *
 * @param header The request's headers.
 * @param body The request's body, in any dialect.
 * @returns Values of up to 64 characters by name; `undefined` for none.
 */
export function clientTags(header: HeaderLookup, body: JsonValue): ClientTags | undefined {
  const fields = isObject(body) ? body : {};
  const agent = header("user-agent") ?? "";
  const known = TOOLS.find((one) => one.agent.test(agent));
  const claude = claudeUser(fields);
  const tool = known?.tool ?? (claude && bounded(header("x-app")));
  const session = bounded(
    firstHeader(header, known?.session ?? []) ?? claude?.session ?? text(fields.prompt_cache_key),
  );
  const user = bounded(text(fields.safety_identifier) ?? text(fields.user) ?? claude?.user);
  if (tool === undefined && session === undefined && user === undefined) return undefined;
  return {
    ...(tool === undefined ? {} : { tool }),
    ...(session === undefined ? {} : { session }),
    ...(user === undefined ? {} : { user }),
  };
}

function firstHeader(header: HeaderLookup, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = header(name);
    if (value) return value;
  }
  return undefined;
}

/** Who and which session `metadata.user_id` names. */
function claudeUser(
  { metadata }: JsonObject,
): { readonly user?: string | undefined; readonly session?: string | undefined } | undefined {
  const id = isObject(metadata) ? text(metadata.user_id) : undefined;
  if (id === undefined || id.length > MAX_USER_ID_CHARS) return undefined;
  if (id.startsWith("{")) {
    const parts = jsonIn(id);
    if (!isObject(parts)) return { user: id };
    return {
      user: text(parts.account_uuid) || text(parts.device_id),
      session: text(parts.session_id),
    };
  }
  const [, hash, account, session] = CLAUDE_USER.exec(id) ?? [];
  return hash === undefined ? { user: id } : { user: account || hash, session };
}

/** A text of a client as it is kept; undefined for none. */
function bounded(value: string | null | undefined): string | undefined {
  if (!value) return undefined;
  const plain = displayed(value.slice(0, MAX_CHARS).trim()).slice(0, MAX_CHARS).toWellFormed();
  return plain === "" ? undefined : plain;
}
