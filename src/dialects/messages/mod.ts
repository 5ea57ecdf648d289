/**
 * The messages dialect: `POST /v1/messages` and `POST /v1/messages/count_tokens`.
 *
 * Promise: nothing that a coding tool sends fails because an upstream cannot say it; a stream is
 * well-formed whatever the upstream sends.
 *
 * @module
 */

import type { Dialect } from "../bridge.ts";
import { meterInput } from "../meter.ts";
import { messagesErrorBody, messagesErrorEvent } from "./errors.ts";
import { replaceMessagesImages } from "./images.ts";
import { readMessages } from "./read.ts";
import { reasonMessages } from "./reasoning.ts";

export { messagesCarry } from "./carry.ts";
export { messagesErrorBody, messagesErrorWords } from "./errors.ts";
export { messagesOverChat } from "./over_chat.ts";
export { readCount } from "./read.ts";
export { writeMessagesUsage } from "./usage.ts";

/** Messages in front. */
export const messagesDialect: Dialect = {
  name: "messages",
  answerId: (requestId) => requestId.replace(/^req_/, "msg_"),
  read: readMessages,
  reason: reasonMessages,
  replaceImages: replaceMessagesImages,
  countInput: ({ body, images }) => meterInput(body, images),
  errorBody: messagesErrorBody,
  errorEvent: messagesErrorEvent,
};
