import type { Front } from "../dialect.ts";
import { COMPACT_PATH } from "./request/compaction.ts";
import { toConversation } from "./request/conversation.ts";
import { openAiErrorBody } from "../error_words.ts";
import { responseId, responsesErrorEvent, streamedRefusal } from "./errors.ts";
import { parseCompact, parseResponses } from "./request/parse.ts";
import { applyReasoning } from "./request/reasoning.ts";
import { fillReferences, findReferences } from "./request/references.ts";
import { ResponsesWriter } from "./reply/writer.ts";

/** Responses as clients speak it. */
export const responsesFront: Front = {
  path: "/v1/responses",
  further: [{ path: COMPACT_PATH, parse: parseCompact }],
  fields: {
    messages: "input",
    documents: "input.input_file",
    temperature: "temperature",
    topP: "top_p",
    topK: "top_k",
    stop: "stop",
    seed: "seed",
    presencePenalty: "presence_penalty",
    frequencyPenalty: "frequency_penalty",
    reasoning: "reasoning",
    reasoningBudget: "", // the dialect has none
    earlierReasoning: "input.reasoning",
    imageDetail: "input_image.detail",
    verbosity: "text.verbosity",
    logprobs: "include.message.output_text.logprobs",
    alternatives: "top_logprobs",
    parallelTools: "parallel_tool_calls",
    strictTools: "tools.strict",
    serviceTier: "service_tier",
    user: "user",
    safetyId: "safety_identifier",
    cacheKey: "", // the gateway uses it itself
  },
  references: { find: findReferences, fill: fillReferences },
  listsAliases: false,
  isSpoken: () => false, // any SDK's headers may come with it
  replyId: responseId,
  parse: parseResponses,
  applyReasoning,
  imageField: (_image, url) => url,
  toConversation,
  writer: (context) => new ResponsesWriter(context),
  errorBody: openAiErrorBody,
  errorEvent: responsesErrorEvent,
  streamedRefusal,
};
