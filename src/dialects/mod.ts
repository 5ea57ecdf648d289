/**
 * The wire formats, and the bridges between the one in front and the one behind.
 *
 * Promise: between the same dialect a body is carried as the object that it was; a stream's events
 * are the same however its bytes are cut; no transcript is kept. Wire names stay in here.
 * Leaves to others: limits, prices, sockets.
 *
 * @module
 */

export type {
  Answer,
  AnswerNames,
  AnswerStream,
  Asked,
  Bridge,
  Dialect,
  ImageView,
  Reasoned,
  RequestOptions,
  Shaping,
} from "./bridge.ts";
export {
  type AnswerState,
  brokenOff,
  chatCarry,
  chatDialect,
  chatErrorBody,
  chatErrorWords,
  chatOverMessages,
  isContextError,
  joinAnswers,
  joinStreams,
  NOTHING,
  readUpstreamError,
  ReportedError,
  tooLongMessage,
  type UpstreamError,
  upstreamFault,
  writeChatUsage,
} from "./chat/mod.ts";
export { isObject, items, type JsonObject, type JsonValue, objects, text } from "./json.ts";
export {
  messagesCarry,
  messagesDialect,
  messagesErrorBody,
  messagesErrorWords,
  messagesOverChat,
  readCount,
  writeMessagesUsage,
} from "./messages/mod.ts";
export { readAside } from "./read_aside.ts";
export { requestSchemas } from "./request_schemas.ts";
export type { Reasoning } from "./reasoning.ts";
export { SseDecoder, type SseEvent, StreamFault } from "./sse/mod.ts";
export { countedUsage, type Usage } from "./usage.ts";
