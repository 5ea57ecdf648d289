import { isObject, type JsonObject, type JsonValue, objects } from "../json.ts";
import { firstCount, inner, type Usage } from "../usage.ts";
import type { UsageReport } from "../usage_reports.ts";

/** What a message, or the event of one, says of how it was made; the tier in OpenAI's words. */
export function toldIn(
  { model, usage }: JsonObject,
): Readonly<Record<"model" | "tier" | "speed" | "region", JsonValue | undefined>> {
  const { service_tier: tier, speed, inference_geo: region } = isObject(usage) ? usage : {};
  return { model, tier: tier === "standard" ? "default" : tier, speed, region };
}

/** Tiers that the dialect has, by OpenAI's words for them. */
const TIERS: Readonly<Record<string, string>> = {
  default: "standard",
  priority: "priority",
  batch: "batch",
};

/** Usage as a messages client reads it: cached input stands beside the input, not in it. */
export function writeMessagesUsage(usage: Usage, tier = ""): JsonObject {
  return {
    input_tokens: usage.inputTokens - usage.cachedTokens - usage.cacheWrittenTokens,
    cache_creation_input_tokens: usage.cacheWrittenTokens,
    cache_read_input_tokens: usage.cachedTokens,
    output_tokens: usage.outputTokens,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens },
    ...(Object.hasOwn(TIERS, tier) ? { service_tier: TIERS[tier]! } : {}),
  };
}

/**
 * What a messages upstream reports, in its first event, in the last, or in both: each stands for itself, and the input is what
 * is in no cache, what was read from one and what was written to one. Undefined for a value that is no report.
 */
export function readMessagesUsage(value: unknown): UsageReport | undefined {
  if (!isObject(value)) return undefined;
  const plain = firstCount(value.input_tokens);
  const read = firstCount(value.cache_read_input_tokens);
  const written = firstCount(value.cache_creation_input_tokens);
  const hour = firstCount(inner(value, "cache_creation").ephemeral_1h_input_tokens);
  const rounds = objects(value.iterations).map((one) => readMessagesUsage(one)!);
  const sum = (of: "inputTokens" | "outputTokens") =>
    rounds.reduce((all, one) => all + (one[of] ?? 0), 0);
  const isReport = plain !== undefined || read !== undefined || written !== undefined;
  return {
    // a summary that the upstream writes on the way is a round of its own
    inputTokens: isReport
      ? Math.max((plain ?? 0) + (read ?? 0) + (written ?? 0), sum("inputTokens"))
      : undefined,
    cachedTokens: read,
    cacheWrittenTokens: written,
    // a zero tells that all of it is written for the usual time
    inputKinds: hour === undefined ? undefined : { writtenHour: hour },
    outputTokens: rounds.length === 0
      ? firstCount(value.output_tokens)
      : Math.max(firstCount(value.output_tokens) ?? 0, sum("outputTokens")),
    reasoningTokens: firstCount(inner(value, "output_tokens_details").thinking_tokens),
  };
}

/** What a stream's first event reports: its output is only what was there at the beginning. */
export function readFirstUsage(value: unknown): UsageReport | undefined {
  const report = readMessagesUsage(value);
  return report && { ...report, outputTokens: undefined, reasoningTokens: undefined };
}
