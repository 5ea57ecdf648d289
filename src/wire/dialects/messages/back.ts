import { invalid } from "../../../ground/refusal.ts";
import type { Back, WriteConversationOptions, WrittenRequest } from "../dialect.ts";
import { isObject, items, type JsonObject, withoutFields } from "../json.ts";
import { hasMarks, markEnds } from "../neutral/cache_marks.ts";
import type { Concept, Conversation, Part } from "../neutral/conversation.ts";
import { DEFAULT_SAMPLING } from "../sampling.ts";
import { versionHeaders } from "./headers.ts";
import { MessagesReader, readMessagesReply } from "./read_reply.ts";
import { MIN_BUDGET_TOKENS, mostBudget } from "./schema.ts";
import { hasUnsealed } from "../neutral/sealed_reasoning.ts";
import { changedNames, MAX_CHARS_OF_MESSAGES } from "../neutral/tool_names.ts";
import { isSequence, writeConversation } from "./write.ts";

/** Messages as upstreams speak it. */
export const messagesBack: Back = {
  path: "/messages",
  modelsPath: "/models?limit=1000", // a page has twenty otherwise
  authorization: (key) => ({ "x-api-key": key }),
  versionHeaders,
  write,
  readReply: readMessagesReply,
  reader: () => new MessagesReader(),
};

/** Tokens that reasoning may take when it is switched on without a number. */
const BUDGET_TOKENS = 16_000;

function write(conversation: Conversation, options: WriteConversationOptions): WrittenRequest {
  const { model, upstream, permittedOutput, shaping, stream, fields } = options;
  const { signedReasoning = false } = shaping;
  const { effort } = conversation.reasoning;
  const enabled = effort === "none" ? false : conversation.reasoning.enabled;
  // a client that names its conversation for a prompt cache counts on one
  const isKeyed = shaping.cacheMarks === true && conversation.cacheKey !== undefined;
  const marked = isKeyed && !hasMarks(conversation) ? markEnds(conversation) : conversation;
  const written = writeConversation(marked, {
    signed: signedReasoning,
    upstream,
    model,
  });
  const sent: JsonObject = { model, ...written, max_tokens: permittedOutput };
  const dropped: string[] = [];
  const adjusted: string[] = [];
  const { budgetTokens } = conversation.reasoning;
  let thinking = enabled === undefined
    ? undefined
    : thinkingOf(enabled, { budgetTokens: budgetTokens ?? BUDGET_TOKENS, permittedOutput });
  if (enabled !== undefined && thinking === undefined) dropped.push(fields.reasoning);
  else if (budgetTokens !== undefined && thinking?.budget_tokens !== budgetTokens) {
    const sentBudget = thinking?.budget_tokens;
    if (sentBudget === undefined) dropped.push(fields.reasoningBudget);
    else adjusted.push(`${fields.reasoningBudget}=${sentBudget}`);
  }
  if (effort !== undefined && effort !== "none") {
    const config = isObject(sent.output_config) ? sent.output_config : {};
    sent.output_config = { ...config, effort: effort === "minimal" ? "low" : effort };
    // there an effort alone limits the output, and does not switch reasoning on
    if (signedReasoning) thinking ??= { type: "adaptive" };
  }
  if (thinking !== undefined) sent.thinking = thinking;
  const reasons = thinking !== undefined && thinking.type !== "disabled";
  if (shaping.fixedSampling || reasons) {
    dropped.push(...withoutFields(sent, ["temperature", "top_p", "top_k"]));
  } else if (!shaping.ownSampling) {
    sent.temperature ??= DEFAULT_SAMPLING.temperature;
  }
  if (signedReasoning && hasUnsealed(conversation.turns, options)) {
    dropped.push(fields.earlierReasoning);
  }
  if (!conversation.stop.every(isSequence)) dropped.push(fields.stop);
  const said = isKeyed ? { ...conversation, cacheKey: undefined } : conversation;
  dropped.push(...missed(said).map((concept) => fields[concept]));
  if (items(sent.messages).length === 0) {
    const param = fields.messages;
    throw invalid(param, `${param} must have at least one user or assistant message with content.`);
  }
  if (stream) sent.stream = true;
  const { temperature } = sent;
  const isCapped = temperature !== undefined && temperature !== conversation.temperature &&
    conversation.temperature !== undefined;
  if (isCapped) adjusted.push(`temperature=${temperature}`);
  const toolNames = changedNames(conversation.tools, MAX_CHARS_OF_MESSAGES);
  return { body: sent, dropped, adjusted, takesMarks: true, toolNames };
}

/** What a conversation holds that the dialect has no place for. */
function missed({ turns, verbosity, logprobs, serviceTier, ...more }: Conversation): Concept[] {
  const { user, safetyId, cacheKey } = more;
  const hasDetail = (part: Part) => part.type === "image" && part.detail !== undefined;
  const missed: Partial<Record<Concept, boolean>> = {
    seed: more.seed !== undefined,
    presencePenalty: more.presencePenalty !== undefined,
    frequencyPenalty: more.frequencyPenalty !== undefined,
    imageDetail: turns.some((turn) => "parts" in turn && turn.parts.some(hasDetail)),
    verbosity: verbosity !== undefined,
    logprobs: logprobs !== undefined,
    alternatives: logprobs !== undefined && logprobs > 0,
    serviceTier: serviceTier !== undefined,
    user: user !== undefined && safetyId !== undefined,
    cacheKey: cacheKey !== undefined,
  };
  return (Object.keys(missed) as Concept[]).filter((concept) => missed[concept]);
}

/** Undefined when the permitted output leaves no room for reasoning. */
function thinkingOf(
  enabled: boolean,
  { budgetTokens, permittedOutput }: {
    readonly budgetTokens: number;
    readonly permittedOutput: number;
  },
): JsonObject | undefined {
  if (!enabled) return { type: "disabled" };
  const budget = Math.min(budgetTokens, mostBudget(permittedOutput));
  return budget < MIN_BUDGET_TOKENS ? undefined : { type: "enabled", budget_tokens: budget };
}
