import { chatErrorBody, messagesErrorBody } from "../dialects/mod.ts";
import type { Refusal } from "../refusal.ts";

/** Longest wait that a `Retry-After` of ours asks for: SDKs ignore longer ones. */
const MAX_RETRY_AFTER_SECONDS = 60;

/** What every answer to one request begins with. */
export interface AnswerBase {
  readonly requestId: string;
  /** Path without the query. */
  readonly path: string;
  /** Request ids and what browsers are told. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A refusal in the words of its path: messages below `/v1/messages`, chat everywhere else. */
export function errorAnswer({ path, requestId, headers }: AnswerBase, refusal: Refusal): Response {
  const body = path === "/v1/messages" || path.startsWith("/v1/messages/")
    ? messagesErrorBody(refusal, requestId)
    : chatErrorBody(refusal);
  const own: Record<string, string> = { ...headers, "content-type": "application/json" };
  if (!refusal.retryable) own["x-should-retry"] = "false";
  if (refusal.status === 429 || refusal.status === 503) {
    const seconds = Math.ceil((refusal.retryAfterMs ?? 5_000) / 1_000);
    own["retry-after"] = String(Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(1, seconds)));
  }
  return new Response(JSON.stringify(body), { status: refusal.status, headers: own });
}
