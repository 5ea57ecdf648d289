import { isObject, type JsonObject } from "../json.ts";
import { firstCount, inner, type Usage } from "../usage.ts";

/**
 * What a chat upstream reports, in our meaning; undefined when it reports none.
 *
 * Cached tokens stand in four places, by provider: `prompt_tokens_details.cached_tokens`,
 * `cached_tokens`, `prompt_cache_hit_tokens`, or nowhere.
 */
export function readChatUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const input = firstCount(value.prompt_tokens);
  const output = firstCount(value.completion_tokens);
  if (input === undefined || output === undefined) return undefined;
  const cached = firstCount(
    inner(value, "prompt_tokens_details").cached_tokens,
    value.cached_tokens,
    value.prompt_cache_hit_tokens,
  );
  const written = firstCount(inner(value, "prompt_tokens_details").cache_write_tokens);
  const reasoning = firstCount(inner(value, "completion_tokens_details").reasoning_tokens);
  const cachedTokens = Math.min(cached ?? 0, input);
  return {
    inputTokens: input,
    cachedTokens,
    cacheWrittenTokens: Math.min(written ?? 0, input - cachedTokens),
    outputTokens: output,
    reasoningTokens: Math.min(reasoning ?? 0, output),
  };
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
