import type { WriteConversationOptions } from "../dialect.ts";
import type { JsonObject } from "../json.ts";
import type { Concept, Conversation } from "../neutral/conversation.ts";
import { describedSchema } from "../neutral/output_format.ts";
import { withoutMeta } from "../neutral/schemas.ts";
import type { Effort, ReasoningRequest } from "../reasoning.ts";
import { DEFAULT_SAMPLING } from "../sampling.ts";
import { alwaysThinks, maxThinkingBudget, reasonsByLevel } from "./models.ts";

/** The service rejects more. */
const MAX_STOPS = 5;
/** Seeds have 32 bits. */
const MAX_SEED = 0x7fff_ffff;
/** The least budget of thoughts that each of its models accepts. */
const MIN_BUDGET = 512;

/** Minimum of models whose thinking cannot be switched off (ai.google.dev, thinking). */
const MIN_PRO_BUDGET = 128;
const MIN_PRO_LEVEL = "LOW";

/** Levels of thinking by efforts; there is none above the last. */
const LEVELS: Readonly<Record<Exclude<Effort, "none">, string>> = {
  minimal: "MINIMAL",
  low: "LOW",
  medium: "MEDIUM",
  high: "HIGH",
  xhigh: "HIGH",
  max: "HIGH",
};
/** The same for older models, in tokens, as Google's own chat interface has it (ai.google.dev, OpenAI compatibility). */
const BUDGETS: Readonly<Record<Exclude<Effort, "none">, number>> = {
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
};

/** A `generationConfig`, and what of the conversation it does not say. */
export interface WrittenConfig {
  readonly config: JsonObject;
  readonly dropped: readonly Concept[];
  readonly adjusted: readonly string[];
}

/** Writes how a reply is to be generated. */
export function configOf(
  conversation: Conversation,
  options: WriteConversationOptions,
): WrittenConfig {
  const { permittedOutput, shaping, fields } = options;
  const { stop, format, reasoning, logprobs } = conversation;
  const config: JsonObject = { maxOutputTokens: permittedOutput };
  const dropped: Concept[] = [];
  const adjusted: string[] = [];
  const own = shaping.ownSampling || shaping.fixedSampling;
  const { temperature = own ? undefined : DEFAULT_SAMPLING.temperature, topK } = conversation;
  const { topP = own ? undefined : DEFAULT_SAMPLING.topP, seed } = conversation;
  // models without penalties reject any, also of nothing
  const presencePenalty = conversation.presencePenalty || undefined;
  const frequencyPenalty = conversation.frequencyPenalty || undefined;
  const sampling = { temperature, topP, topK, presencePenalty, frequencyPenalty };
  if (seed !== undefined && Math.abs(seed) <= MAX_SEED) config.seed = seed;
  else if (seed !== undefined) dropped.push("seed");
  for (const [concept, value] of Object.entries(sampling)) {
    if (value === undefined) continue;
    if (shaping.fixedSampling) dropped.push(concept as Concept);
    else config[concept] = value;
  }
  const sequences = stop.filter((one) => one !== "").slice(0, MAX_STOPS);
  if (sequences.length > 0) config.stopSequences = sequences;
  if (sequences.length < stop.length) dropped.push("stop");
  if (format !== undefined) {
    config.responseMimeType = "application/json";
    if (format.type === "json_schema") {
      config.responseJsonSchema = withoutMeta(describedSchema(format));
    }
  }
  if (logprobs !== undefined) {
    config.responseLogprobs = true;
    if (logprobs > 0) config.logprobs = logprobs;
  }
  const thinking = thinkingOf(reasoning, options);
  if (thinking !== undefined) config.thinkingConfig = thinking;
  const isOff = thinking !== undefined && thinking.includeThoughts === undefined;
  if (isOff && thinking.thinkingBudget !== 0) dropped.push("reasoning");
  const { budgetTokens } = reasoning;
  if (budgetTokens !== undefined && thinking?.thinkingBudget !== budgetTokens) {
    if (thinking?.thinkingBudget === undefined) dropped.push("reasoningBudget");
    else adjusted.push(`${fields.reasoningBudget}=${thinking.thinkingBudget}`);
  }
  return { config, dropped, adjusted };
}

/** What switches thinking off, as far as a model can be. */
function offFor(model: string): JsonObject {
  if (!alwaysThinks(model)) return { thinkingBudget: 0 };
  return reasonsByLevel(model)
    ? { thinkingLevel: MIN_PRO_LEVEL }
    : { thinkingBudget: MIN_PRO_BUDGET };
}

/** Undefined where it is left to the model: those that cannot think reject any setting of it. */
function thinkingOf(
  { enabled, effort, budgetTokens }: ReasoningRequest,
  { model, permittedOutput }: WriteConversationOptions,
): JsonObject | undefined {
  if (effort === "none" || effort === undefined && enabled === false) return offFor(model);
  if (effort === undefined && enabled === undefined) return undefined;
  if (effort !== undefined && reasonsByLevel(model)) {
    return { includeThoughts: true, thinkingLevel: LEVELS[effort] };
  }
  const wanted = effort === undefined ? budgetTokens : BUDGETS[effort];
  if (wanted === undefined) return { includeThoughts: true };
  // thoughts are part of the output
  const most = Math.min(permittedOutput, maxThinkingBudget(model));
  const thinkingBudget = Math.max(MIN_BUDGET, Math.min(wanted, most));
  return { includeThoughts: true, thinkingBudget };
}
