import type { Reason, Refusal } from "../../ground/refusal.ts";
import type { JsonObject } from "./json.ts";

/** How each reason is called in OpenAI's APIs, chat completions and responses. */
export const openAiErrorWords = {
  key_invalid: { code: "invalid_api_key", type: "invalid_request_error" },
  credits_short: { code: "insufficient_credits", type: "insufficient_quota" },
  budget_spent: { code: "insufficient_credits", type: "invalid_request_error" },
  permission_denied: { code: "permission_denied", type: "invalid_request_error" },
  rate_exceeded: { code: "rate_limit_exceeded", type: "rate_limit_error" },
  request_invalid: { code: "invalid_request", type: "invalid_request_error" },
  image_too_large: { code: "encoded_image_too_large", type: "invalid_request_error" },
  context_exceeded: { code: "context_length_exceeded", type: "invalid_request_error" },
  model_unknown: { code: "model_not_found", type: "invalid_request_error" },
  path_unknown: { code: "not_found", type: "invalid_request_error" },
  upstream_unavailable: { code: "upstream_unavailable", type: "api_error" },
  gateway_unavailable: { code: "service_unavailable", type: "api_error" },
  internal: { code: "internal_error", type: "api_error" },
} as const satisfies Record<Reason, { code: string; type: string }>;

/** A refusal as OpenAI's APIs report it, where no stream has begun. */
export function openAiErrorBody(refusal: Refusal): JsonObject {
  const { code, type } = openAiErrorWords[refusal.reason];
  return { error: { message: refusal.message, type, code, param: refusal.param ?? null } };
}
