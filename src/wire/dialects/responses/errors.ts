import type { Reason, Refusal } from "../../../ground/refusal.ts";
import type { RefusedRequest } from "../dialect.ts";
import { EventLines } from "./reply/event_lines.ts";
import { repeatedFields } from "./reply/response_object.ts";

/** How each reason is called in a response that failed: clients retry (`server_error`), wait, compact, or stop. */
const FAILURE_CODES = {
  key_invalid: "invalid_prompt",
  credits_short: "insufficient_quota",
  budget_spent: "insufficient_quota",
  permission_denied: "invalid_prompt",
  rate_exceeded: "rate_limit_exceeded",
  request_invalid: "invalid_prompt",
  image_too_large: "invalid_prompt",
  context_exceeded: "context_length_exceeded",
  model_unknown: "invalid_prompt",
  path_unknown: "invalid_prompt",
  upstream_unavailable: "server_error",
  gateway_unavailable: "server_error",
  internal: "server_error",
} as const satisfies Record<Reason, string>;

/** The error of a response that failed. */
export type ResponseError = {
  readonly code: typeof FAILURE_CODES[Reason];
  readonly message: string;
};

/** A refusal as the error of a response that failed. */
export function responseError(refusal: Refusal): ResponseError {
  return { code: FAILURE_CODES[refusal.reason], message: messageOf(refusal) };
}

/** Clients read the time to wait from the words `try again in N s`. */
function messageOf({ reason, message, retryAfterMs }: Refusal): string {
  if (reason !== "rate_exceeded" || retryAfterMs === undefined || /try again in/i.test(message)) {
    return message;
  }
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
  return `${message.replace(/ ?Please try again\.$/, "")} Please try again in ${seconds} s.`
    .trimStart();
}

/** The id of the reply to a request. */
export function responseId(requestId: string): string {
  return requestId.replace(/^req_/, "resp_");
}

/** A whole stream of a response that failed before there was anything to write. */
function failedStream(error: ResponseError, requestId: string, model: string): string {
  const id = responseId(requestId);
  const createdAtS = Math.floor(Date.now() / 1_000);
  return new EventLines({ id, createdAtS, model, request: repeatedFields({}) }).failed(error, []);
}

/** The last events of a stream of which nothing was written. */
export function responsesErrorEvent(refusal: Refusal, requestId: string): string {
  return failedStream(responseError(refusal), requestId, "");
}

/**
 * Codex sends a request again up to five times after 402, 403 and 404, and shows its own words after 429. After a response that
 * failed with `invalid_prompt` it stops, and shows the message. Refusals with a 5xx status it should retry.
 */
export function streamedRefusal(
  refusal: Refusal,
  { header, requestId, model }: RefusedRequest,
): string | undefined {
  const isCodex = /^codex/i.test(header("originator") ?? "");
  const isStreamed = (header("accept") ?? "").toLowerCase().includes("text/event-stream");
  if (!isCodex || !isStreamed || refusal.status >= 500) return undefined;
  const { code, message } = responseError(refusal);
  const stops = code !== "context_length_exceeded"; // that one makes it compact the conversation
  return failedStream({ code: stops ? "invalid_prompt" : code, message }, requestId, model);
}
