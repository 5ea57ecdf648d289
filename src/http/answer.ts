import { chatErrorBody, messagesErrorBody } from "../dialects/mod.ts";
import type { Refusal } from "../refusal.ts";

/** Longest wait that a `Retry-After` of ours asks for: SDKs ignore longer ones. */
const MAX_RETRY_AFTER_SECONDS = 60;

/** The words for a path's errors: messages below `/v1/messages`, chat everywhere else. */
export function errorAnswer(path: string, refusal: Refusal, requestId: string): Response {
  const body = path === "/v1/messages" || path.startsWith("/v1/messages/")
    ? messagesErrorBody(refusal, requestId)
    : chatErrorBody(refusal);
  const headers: Record<string, string> = {
    "content-type": "application/json",
    ...idHeaders(requestId),
  };
  if (!refusal.retryable) headers["x-should-retry"] = "false";
  if (refusal.status === 429 || refusal.status === 503) {
    const seconds = Math.ceil((refusal.retryAfterMs ?? 5_000) / 1_000);
    headers["retry-after"] = String(Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(1, seconds)));
  }
  return new Response(JSON.stringify(body), { status: refusal.status, headers });
}

/** The request's id, under the names that either family of SDKs reads. */
export function idHeaders(requestId: string): Record<string, string> {
  return { "x-request-id": requestId, "request-id": requestId };
}
