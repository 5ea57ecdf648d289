import { isObject, type JsonObject } from "../json.ts";
import { firstCount, inner, type Usage } from "../usage.ts";

/** What a responses upstream reports, in our meaning; undefined when it reports none. */
export function readResponsesUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const input = firstCount(value.input_tokens);
  const output = firstCount(value.output_tokens);
  if (input === undefined || output === undefined) return undefined;
  const details = inner(value, "input_tokens_details");
  const cachedTokens = Math.min(firstCount(details.cached_tokens) ?? 0, input);
  const written = firstCount(details.cache_write_tokens) ?? 0;
  const reasoning = firstCount(inner(value, "output_tokens_details").reasoning_tokens) ?? 0;
  return {
    inputTokens: input,
    cachedTokens,
    cacheWrittenTokens: Math.min(written, input - cachedTokens),
    outputTokens: output,
    reasoningTokens: Math.min(reasoning, output),
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
