import { jsonIn } from "../../../ground/platform/mod.ts";
import type { HeaderLookup } from "../dialect.ts";
import { isObject, type JsonObject, text } from "../json.ts";

/** Names the conversation in requests of Claude Code. */
const SESSION_HEADER = "x-claude-code-session-id";
const SESSION = /^[A-Za-z0-9._-]{1,128}$/;
const MAX_USER_ID_CHARS = 2_000;

/**
 * The id of the conversation that a request belongs to, where a coding tool tells it: in `metadata.user_id`, as
 * `user_…_account_…_session_UUID` or as JSON with a `session_id`, or in a header.
 */
export function sessionOf(body: JsonObject, header: HeaderLookup): string | undefined {
  const userId = isObject(body.metadata) ? text(body.metadata.user_id) : undefined;
  return [fromUserId(userId), header(SESSION_HEADER) ?? undefined]
    .find((one) => one !== undefined && SESSION.test(one));
}

function fromUserId(userId: string | undefined): string | undefined {
  if (userId === undefined || userId.length > MAX_USER_ID_CHARS) return undefined;
  if (!userId.trimStart().startsWith("{")) return /_session_([A-Za-z0-9-]+)$/.exec(userId)?.[1];
  const parsed = jsonIn(userId);
  return isObject(parsed) ? text(parsed.session_id) : undefined;
}
