import { isObject, type JsonObject, type JsonValue, objects } from "../json.ts";
import { type Usage, withCounts } from "../usage.ts";
import { readUsage } from "../usage_names.ts";
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
  const report = readUsage(value, false);
  const rounds = objects(value.iterations).map((one) => readMessagesUsage(one));
  if (rounds.length === 0) return report;
  // a summary that the upstream writes on the way is a round of its own
  const atLeast = (of: "inputTokens" | "outputTokens") =>
    Math.max(report?.[of] ?? 0, rounds.reduce((all, one) => all + (one?.[of] ?? 0), 0));
  return {
    cachedTokens: report?.cachedTokens,
    cacheWrittenTokens: report?.cacheWrittenTokens,
    inputKinds: report?.inputKinds,
    inputTokens: report?.inputTokens === undefined ? undefined : atLeast("inputTokens"),
    outputTokens: atLeast("outputTokens"),
    reasoningTokens: report?.reasoningTokens,
  };
}

/** What Bedrock reports with the last event, or with a whole reply. */
export function readBedrockUsage(said: JsonObject): UsageReport | undefined {
  return readMessagesUsage(said["amazon-bedrock-invocationMetrics"]);
}

/** A report as clients read it: in whole numbers, under the dialect's names where it has others. */
export function withOwnNames(said: JsonObject, usage: Usage): JsonObject {
  const report = withCounts(said);
  const { input_tokens: input, output_tokens: output } = report;
  const isOwn = typeof input === "number" && typeof output === "number";
  return isOwn ? report : { ...report, ...writeMessagesUsage(usage) };
}

/** What a stream's first event reports: its output is only what was there at the beginning. */
export function readFirstUsage(value: unknown): UsageReport | undefined {
  const report = readMessagesUsage(value);
  return report && { ...report, outputTokens: undefined, reasoningTokens: undefined };
}
