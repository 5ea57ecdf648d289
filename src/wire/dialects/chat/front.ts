import type { Front } from "../dialect.ts";
import { isObject } from "../json.ts";
import { toConversation } from "./conversation.ts";
import { openAiErrorBody } from "../error_words.ts";
import { withSealsOf } from "../neutral/sealed_reasoning.ts";
import { multipleChoices } from "./multiple.ts";
import { parseChat } from "./parse.ts";
import { applyReasoning } from "./reasoning.ts";
import { openSignatures } from "./signatures.ts";
import { ChatWriter } from "./writer.ts";

/** Chat as clients speak it. */
export const chatFront: Front = {
  path: "/v1/chat/completions",
  fields: {
    messages: "messages",
    documents: "messages.file",
    temperature: "temperature",
    topP: "top_p",
    topK: "top_k",
    stop: "stop",
    seed: "seed",
    presencePenalty: "presence_penalty",
    frequencyPenalty: "frequency_penalty",
    reasoning: "thinking",
    reasoningBudget: "thinking.budget_tokens",
    earlierReasoning: "messages.reasoning_content",
    imageDetail: "image_url.detail",
    verbosity: "verbosity",
    logprobs: "logprobs",
    alternatives: "top_logprobs",
    parallelTools: "parallel_tool_calls",
    strictTools: "tools.strict",
    serviceTier: "service_tier",
    user: "user",
    safetyId: "safety_identifier",
    cacheKey: "prompt_cache_key",
  },
  multiple: multipleChoices,
  listsAliases: false,
  isSpoken: () => false, // any SDK's headers may come with it
  replyId: (requestId) => requestId.replace(/^req_/, "chatcmpl-"),
  parse: (body, _header, sealer) => {
    const request = parseChat(body);
    const opened = openSignatures(request.body, sealer);
    return opened === undefined ? request : { ...request, opened };
  },
  applyReasoning: (request, route) => applyReasoning(withSealsOf(request, route.id), route),
  imageField: (image, url) => isObject(image) ? { ...image, url } : url,
  toConversation,
  writer: (context) => new ChatWriter(context),
  errorBody: openAiErrorBody,
  errorEvent: (refusal) => `data: ${JSON.stringify(openAiErrorBody(refusal))}\n\n`, // no `[DONE]` follows
};
