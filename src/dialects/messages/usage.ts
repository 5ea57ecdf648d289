import type { JsonObject } from "../json.ts";
import type { Usage } from "../usage.ts";

/** Usage as a messages client reads it: cached input stands beside the input, not in it. */
export function writeMessagesUsage(usage: Usage): JsonObject {
  return {
    input_tokens: usage.inputTokens - usage.cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage.cachedTokens,
    output_tokens: usage.outputTokens,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens },
  };
}
