import type { Front } from "../dialect.ts";
import { withSealsOf } from "../neutral/sealed_reasoning.ts";
import { toConversation } from "./conversation.ts";
import { messagesErrorBody, messagesErrorEvent } from "./errors.ts";
import { BETA_HEADER, VERSION_HEADER } from "./headers.ts";
import { parseCount, parseMessages } from "./parse.ts";
import { applyReasoning } from "./reasoning.ts";
import { sessionOf } from "./session.ts";
import { openSeals } from "./seals.ts";
import { MessagesWriter } from "./writer.ts";

/** Messages as clients speak it. */
export const messagesFront: Front = {
  path: "/v1/messages",
  counting: {
    path: "/v1/messages/count_tokens",
    parse: (body, header) => parseCount(body, { hasBeta: header(BETA_HEADER) !== null }),
  },
  fields: {
    messages: "messages",
    documents: "messages.document",
    temperature: "temperature",
    topP: "top_p",
    topK: "top_k",
    stop: "stop_sequences",
    reasoning: "thinking",
    earlierReasoning: "messages.thinking",
    parallelTools: "tool_choice.disable_parallel_tool_use",
    strictTools: "tools.strict",
    reasoningBudget: "", // its effort is said instead
    // the dialect has none of these
    seed: "",
    presencePenalty: "",
    frequencyPenalty: "",
    imageDetail: "",
    verbosity: "",
    logprobs: "",
    alternatives: "",
    serviceTier: "",
    user: "",
    safetyId: "",
    cacheKey: "",
  },
  listsAliases: true,
  isSpoken: (header) => header(VERSION_HEADER) !== null,
  replyId: (requestId) => requestId.replace(/^req_/, "msg_"),
  parse: (body, header, sealer) => {
    const request = parseMessages(body, { hasBeta: header(BETA_HEADER) !== null });
    const opened = openSeals(request.body, sealer);
    return { ...request, opened, session: sessionOf(request.body, header) };
  },
  applyReasoning: (request, route) => applyReasoning(withSealsOf(request, route.id), route),
  imageField: (_source, url) => {
    const [, mediaType, data] = /^data:([^;,]*);base64,([\s\S]*)$/.exec(url)!;
    return { type: "base64", media_type: mediaType!, data: data! };
  },
  toConversation,
  writer: (context) => new MessagesWriter(context),
  errorBody: messagesErrorBody,
  errorEvent: messagesErrorEvent,
};
