import type { JsonObject } from "../json.ts";
import { firstCount, inner, type Usage, withCounts } from "../usage.ts";

/** A report with its numbers under the names that the dialect documents, which clients read, and in whole numbers. */
export function withOwnNames(said: JsonObject, usage: Usage): JsonObject {
  const report = { ...withCounts(said) };
  const own = writeChatUsage(usage);
  for (const name of ["prompt_tokens", "completion_tokens", "total_tokens"]) {
    if (!report[name]) report[name] = own[name];
  }
  const details = inner(report, "prompt_tokens_details");
  const { cachedTokens } = usage;
  if (cachedTokens === 0 || firstCount(details.cached_tokens) !== undefined) return report;
  return { ...report, prompt_tokens_details: { ...details, cached_tokens: cachedTokens } };
}

/** Usage as a chat client reads it. */
export function writeChatUsage(usage: Usage): JsonObject {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: {
      cached_tokens: usage.cachedTokens,
      ...(usage.cacheWrittenTokens > 0 ? { cache_write_tokens: usage.cacheWrittenTokens } : {}),
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}
