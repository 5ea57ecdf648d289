/**
 * The wire formats. Each is a folder with two ends, a front for clients and a back for upstreams (or that alone), and a row in
 * `registry.ts`; whatever two different ends meet in is the neutral form.
 *
 * Promise: between the same dialect a body goes on as the object that it is; a stream's events
 * are the same however its bytes are cut; no transcript is kept. Wire names stay in here.
 * Leaves to others: limits, prices, sockets.
 *
 * @module
 */

export { clientTags } from "./client_tags.ts";
export { openAiErrorWords } from "./error_words.ts";
export { MAX_ID_CHARS, shortId } from "./neutral/call_ids.ts";
export { type ConversationIdentity, identifyConversation } from "./conversation_identity.ts";
export type {
  AppliedReasoning,
  Back,
  Bridge,
  Dialect,
  Front,
  HeaderLookup,
  ImageView,
  MeteredPart,
  MultipleChoices,
  ParsedRequest,
  Reply,
  ReplyContext,
  ReplyState,
  ReplyStream,
  Shaping,
  WrittenRequest,
} from "./dialect.ts";
export { chatDepartures } from "./chat/named_departures.ts";
export {
  EMPTY_CONVERSATION,
  type Part,
  type ReplyEvent,
  type Tool,
  type Turn,
} from "./neutral/conversation.ts";
export {
  entryOf,
  isObject,
  items,
  type JsonObject,
  type JsonValue,
  objects,
  text,
  withoutNulls,
} from "./json.ts";
export { messagesErrorWords } from "./messages/mod.ts";
export { type MeteredInput, meterInput, meterInTurns, meterRequest } from "./meter_request.ts";
export { isOpenEnded } from "./open_ended.ts";
export { parseDetached } from "./parse_detached.ts";
export {
  type Effort,
  EFFORTS,
  fitEffort,
  mayReason,
  nearestEffort,
  type RouteReasoning,
} from "./reasoning.ts";
export { replaceImages } from "./replace.ts";
export {
  BACK_NAMES,
  type BackName,
  BACKS,
  bridgeBetween,
  DIALECT_NAMES,
  type DialectName,
  DIALECTS,
  frontSpoken,
  wholeOfStream,
  wholeReplyStream,
} from "./registry.ts";
export { requestSchemas } from "./request_schemas.ts";
export {
  connectionFault,
  errorFrame,
  keptItem,
  readTurnFrame,
  streamIdOf,
  turnBody,
  TurnEvents,
  type TurnFault,
  type TurnFrame,
} from "./responses/mod.ts";
export { SEALED_PREFIX, type SealedKind, type Sealer } from "./sealer.ts";
export { SseDecoder, type SseEvent, StreamFault } from "./sse/mod.ts";
export {
  BrokenOff,
  brokenOff,
  errorIn,
  exactStatus,
  isContextError,
  isModelError,
  readUpstreamError,
  ReportedError,
  reportedError,
  retryDelayMs,
  tooLongMessage,
  tooMuch,
  type UpstreamError,
  upstreamFault,
} from "./upstream_error.ts";
export {
  countedUsage,
  firstCount,
  isSameUsage,
  kindsOf,
  NO_USAGE,
  sumOfUsages,
  type TokenKinds,
  type Usage,
  withCounts,
} from "./usage.ts";
export { type InputUsage, type Told } from "./usage_reports.ts";
export { validate } from "./validation.ts";
