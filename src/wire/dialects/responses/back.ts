import type { Back, WriteConversationOptions, WrittenRequest } from "../dialect.ts";
import { items, type JsonObject } from "../json.ts";
import type { Conversation } from "../neutral/conversation.ts";
import { changedNames } from "../neutral/tool_names.ts";
import { withoutDocuments } from "../neutral/without_documents.ts";
import { fitSampling } from "../sampling.ts";
import { readResponsesReply, ResponsesReader } from "./upstream/read_reply.ts";
import { writeConversation } from "./upstream/write.ts";

/** Responses as upstreams speak it. */
export const responsesBack: Back = {
  path: "/responses",
  authorization: (key) => ({ authorization: `Bearer ${key}` }),
  versionHeaders: () => ({}),
  write,
  readReply: readResponsesReply,
  reader: () => new ResponsesReader(),
};

/** Sampling that the dialect has no place for. */
const SAMPLING = ["seed", "presencePenalty", "frequencyPenalty"] as const;

function write(conversation: Conversation, options: WriteConversationOptions): WrittenRequest {
  const { model, upstream, permittedOutput, shaping, stream, fields } = options;
  const { signedReasoning: signed = false, topK: takesTopK = false } = shaping;
  const turns = shaping.withoutFiles ? withoutDocuments(conversation.turns) : conversation.turns;
  const written = writeConversation({ ...conversation, turns }, { upstream, model, signed });
  const sent: JsonObject = { model, ...written.body, max_output_tokens: permittedOutput };
  const { topK, stop, cacheKey } = conversation;
  if (topK !== undefined && takesTopK) sent.top_k = topK;
  const dropped: string[] = [
    ...(topK !== undefined && !takesTopK ? [fields.topK] : []),
    ...(stop.length > 0 ? [fields.stop] : []),
    ...SAMPLING.filter((concept) => conversation[concept] !== undefined)
      .map((concept) => fields[concept]),
    ...(turns !== conversation.turns ? [fields.documents] : []),
    ...(conversation.reasoning.budgetTokens === undefined ? [] : [fields.reasoningBudget]),
    ...(written.dropsReasoning ? [fields.earlierReasoning] : []),
  ];
  dropped.push(...fitSampling(sent, shaping, ["temperature", "top_p", "top_k"]));
  if (shaping.promptCacheKey && cacheKey !== undefined) sent.prompt_cache_key = cacheKey;
  else if (cacheKey !== undefined) dropped.push(fields.cacheKey);
  addReasoning(sent, conversation.reasoning);
  addLogprobs(sent, conversation.logprobs);
  sent.store = false;
  if (stream) sent.stream = true;
  return { body: sent, dropped, toolNames: changedNames(conversation.tools) };
}

function addLogprobs(sent: JsonObject, logprobs: number | undefined): void {
  if (logprobs === undefined) return;
  sent.include = [...items(sent.include), "message.output_text.logprobs"];
  if (logprobs > 0) sent.top_logprobs = logprobs;
}

/** Asked for only where the model is to reason: others reject a summary, and what is encrypted. */
function addReasoning(
  sent: JsonObject,
  { enabled, effort }: Conversation["reasoning"],
): void {
  if (effort === "none" || effort === undefined && enabled === false) {
    sent.reasoning = { effort: "none" };
  } else if (effort !== undefined || enabled === true) {
    sent.reasoning = { ...(effort === undefined ? {} : { effort }), summary: "auto" };
    sent.include = ["reasoning.encrypted_content"];
  }
}
