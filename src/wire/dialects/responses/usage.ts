import type { JsonObject } from "../json.ts";
import type { Usage } from "../usage.ts";

/** Usage as a responses client reads it: cached input is part of the input. */
export function writeResponsesUsage(usage: Usage): JsonObject {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: {
      cached_tokens: usage.cachedTokens,
      ...(usage.cacheWrittenTokens > 0 ? { cache_write_tokens: usage.cacheWrittenTokens } : {}),
    },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
  };
}
