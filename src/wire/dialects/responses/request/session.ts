import type { HeaderLookup } from "../../dialect.ts";
import { type JsonObject, text } from "../../json.ts";

/** Name the conversation in requests of Codex; the first that is there counts. */
const SESSION_HEADERS = ["session-id", "session_id", "thread-id"];

/** The id of the conversation that a request belongs to, where the client tells it. */
export function sessionOf(body: JsonObject, header: HeaderLookup): string | undefined {
  const key = text(body.prompt_cache_key);
  if (key) return key;
  return SESSION_HEADERS.map((name) => header(name)).find((value) => value) ?? undefined;
}
