import { isObject, type JsonObject } from "../json.ts";
import { firstCount, inner, mediaKinds, type Usage, withCounts } from "../usage.ts";
import type { UsageReport } from "../usage_reports.ts";

/**
 * What a chat upstream reports, input, output or both; undefined for any other value.
 *
 * Cached tokens have several names, by provider: `prompt_tokens_details.cached_tokens` (OpenAI and most), `cached_tokens` (Moonshot),
 * `prompt_cache_hit_tokens` (DeepSeek), `cache_read_input_tokens` (LiteLLM, for Claude), `cached_prompt_tokens` and
 * `input_tokens_details.cached_tokens` (relays), or none.
 */
export function readChatUsage(value: unknown): UsageReport | undefined {
  if (!isObject(value)) return undefined;
  // relays of other dialects have their names
  const inputTokens = firstCount(value.prompt_tokens, value.input_tokens);
  const outputTokens = firstCount(value.completion_tokens, value.output_tokens);
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  const details = inner(value, "prompt_tokens_details");
  return {
    ...mediaKinds(details, inner(value, "completion_tokens_details")),
    inputTokens,
    cachedTokens: firstCount(
      details.cached_tokens,
      value.cached_tokens,
      value.prompt_cache_hit_tokens,
      value.cache_read_input_tokens,
      value.cached_prompt_tokens,
      inner(value, "input_tokens_details").cached_tokens,
    ),
    cacheWrittenTokens: firstCount(details.cache_write_tokens),
    outputTokens,
    reasoningTokens: firstCount(inner(value, "completion_tokens_details").reasoning_tokens),
    totalTokens: firstCount(value.total_tokens),
  };
}

/** A report with its cached tokens under the name that the dialect documents, which clients read, and in whole numbers. */
export function withCached(said: JsonObject, { cachedTokens }: Usage): JsonObject {
  const report = withCounts(said);
  const details = inner(report, "prompt_tokens_details");
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
