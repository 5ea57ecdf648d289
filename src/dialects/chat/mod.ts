/**
 * The chat dialect: `POST /v1/chat/completions`.
 *
 * Promise: a body is validated as documented and otherwise stays the object that it was.
 *
 * @module
 */

import type { Dialect } from "../bridge.ts";
import { meterInput } from "../meter.ts";
import { chatErrorBody, chatErrorEvent } from "./errors.ts";
import { replaceChatImages } from "./images.ts";
import { readChat } from "./read.ts";
import { reasonChat } from "./reasoning.ts";

export { chatCarry } from "./carry.ts";
export { chatOverMessages } from "./over_messages.ts";
export { chatErrorBody, chatErrorWords } from "./errors.ts";
export { type AnswerState, joinAnswers, joinStreams, NOTHING } from "./joined.ts";
export { type ChatRequest, chatRequest } from "./schema.ts";
export {
  brokenOff,
  isContextError,
  readUpstreamError,
  ReportedError,
  tooLongMessage,
  type UpstreamError,
  upstreamFault,
} from "./upstream_error.ts";
export { readChatUsage, writeChatUsage } from "./usage.ts";

/** Chat in front. */
export const chatDialect: Dialect = {
  name: "chat",
  answerId: (requestId) => requestId.replace(/^req_/, "chatcmpl-"),
  read: readChat,
  reason: reasonChat,
  replaceImages: replaceChatImages,
  countInput: ({ body, images }) => meterInput(body, images),
  errorBody: chatErrorBody,
  errorEvent: chatErrorEvent,
};
