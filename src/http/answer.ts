import { chatErrorBody, messagesErrorBody } from "../dialects/mod.ts";
import { nearestWindow } from "../admission/mod.ts";
import type { Caller } from "../accounts/mod.ts";
import type { Standing } from "../ledger/mod.ts";
import type { Refusal } from "../refusal.ts";
import { SIMULATED_HEADER } from "../upstreams/mod.ts";

/** Common data of all responses to one request. */
export interface AnswerBase {
  readonly requestId: string;
  /** The client's ID of the request. */
  readonly clientRequestId: string | undefined;
  /** Path of the request, without the query. */
  readonly path: string;
  /** Headers with request IDs, and for browsers of other origins. */
  readonly headers: Readonly<Record<string, string>>;
  /** Address of the client's end of the connection. */
  readonly peer: Deno.Addr | undefined;
  /** The caller, once the key is known. */
  caller?: Caller;
  /** Balance and rate windows of the caller, once they are known. */
  standing?: Standing;
}

/** Returns the response headers with the credit balance and the nearest rate window. */
export function standingHeaders(
  { balance, windows }: Standing,
  nowMs: number,
): Record<string, string> {
  const window = nearestWindow(windows, nowMs);
  return {
    "x-credits-remaining": String(balance),
    ...(window === undefined ? {} : {
      "x-ratelimit-limit": String(window.limit),
      "x-ratelimit-remaining": String(window.remaining),
      "x-ratelimit-reset": String(window.resetAtMs / 1_000),
    }),
  };
}

/** Makes an error response, in the messages dialect below `/v1/messages` and in the chat dialect elsewhere. */
export function errorAnswer(
  { path, requestId, headers, standing }: AnswerBase,
  refusal: Refusal,
  nowMs: number,
): Response {
  const body = path === "/v1/messages" || path.startsWith("/v1/messages/")
    ? messagesErrorBody(refusal, requestId)
    : chatErrorBody(refusal);
  const own: Record<string, string> = {
    ...headers,
    ...(standing === undefined ? {} : standingHeaders(standing, nowMs)),
    "content-type": "application/json",
  };
  if (refusal.simulated) own[SIMULATED_HEADER] = "true";
  if (!refusal.retryable) own["x-should-retry"] = "false";
  if (refusal.status === 429 || refusal.status === 503) {
    const seconds = Math.ceil((refusal.retryAfterMs ?? 5_000) / 1_000);
    own["retry-after"] = String(Math.max(1, seconds));
  }
  return new Response(JSON.stringify(body), { status: refusal.status, headers: own });
}
