/**
 * What the API and the console share of HTTP: bodies of requests, read within bounds; bodies that clients keep, with their
 * entity tags; where requests come from; the path below which a reverse proxy serves all of it.
 *
 * @module
 */

export { BasePath } from "./base_path.ts";
export {
  BodyTooLong,
  ChunksTooSmall,
  readBounded,
  ReadingPace,
  readStart,
  readText,
} from "./bounded_body.ts";
export { Entity } from "./entity.ts";
export { textStream } from "./text_stream.ts";
export { isSameOrigin, siteOf, TrustedProxies, type Visitor, visitorOf } from "./visitor.ts";
