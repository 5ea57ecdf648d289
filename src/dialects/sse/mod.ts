/**
 * Server-sent events, the framing of both dialects' streams.
 *
 * @module
 */

export { SseDecoder, type SseEvent, StreamFault } from "./decoder.ts";
