import type { Reason, Refusal } from "../../../ground/refusal.ts";
import type { JsonObject } from "../json.ts";

/** How each reason is called. */
export const messagesErrorWords = {
  key_invalid: "authentication_error",
  credits_short: "invalid_request_error",
  budget_spent: "invalid_request_error",
  permission_denied: "invalid_request_error",
  rate_exceeded: "rate_limit_error",
  request_invalid: "invalid_request_error",
  image_too_large: "invalid_request_error",
  context_exceeded: "invalid_request_error",
  model_unknown: "invalid_request_error",
  path_unknown: "invalid_request_error",
  upstream_unavailable: "api_error",
  gateway_unavailable: "api_error",
  internal: "api_error",
} as const satisfies Record<Reason, string>;

/** A refusal in the words of the messages dialect. */
export function messagesErrorBody(refusal: Refusal, requestId: string): JsonObject {
  const { reason, message, details } = refusal;
  const error = { type: messagesErrorWords[reason], message };
  return {
    type: "error",
    error: details === undefined ? error : { ...error, details: { ...details } },
    request_id: requestId,
  };
}

/** The last event of a messages stream that failed. */
export function messagesErrorEvent(refusal: Refusal, requestId: string): string {
  return `event: error\ndata: ${JSON.stringify(messagesErrorBody(refusal, requestId))}\n\n`;
}
