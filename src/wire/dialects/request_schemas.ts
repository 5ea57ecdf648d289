import { chatRequest } from "./chat/schema.ts";
import { countRequest, messagesRequest } from "./messages/schema.ts";
import { compactRequest, responsesRequest } from "./responses/request/schema.ts";

/** What requests are held against, for the gateway's own description. */
export const requestSchemas = {
  chat: chatRequest,
  messages: messagesRequest,
  countTokens: countRequest,
  responses: responsesRequest,
  compact: compactRequest,
} as const;
