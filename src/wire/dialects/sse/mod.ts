/**
 * Server-sent events, the framing of every dialect's streams.
 *
 * @module
 */

export { SseDecoder, type SseEvent, StreamFault } from "./decoder.ts";
