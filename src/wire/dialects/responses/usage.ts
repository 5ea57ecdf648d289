import { isObject, type JsonObject } from "../json.ts";
import { firstCount, inner, mediaKinds, type Usage } from "../usage.ts";
import type { UsageReport } from "../usage_reports.ts";

/** What a responses upstream reports, input, output or both; undefined for any other value. */
export function readResponsesUsage(value: unknown): UsageReport | undefined {
  if (!isObject(value)) return undefined;
  const inputTokens = firstCount(value.input_tokens);
  const outputTokens = firstCount(value.output_tokens);
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  const details = inner(value, "input_tokens_details");
  return {
    ...mediaKinds(details, inner(value, "output_tokens_details")),
    inputTokens,
    cachedTokens: firstCount(details.cached_tokens),
    cacheWrittenTokens: firstCount(details.cache_write_tokens),
    outputTokens,
    reasoningTokens: firstCount(inner(value, "output_tokens_details").reasoning_tokens),
    totalTokens: firstCount(value.total_tokens),
  };
}

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
