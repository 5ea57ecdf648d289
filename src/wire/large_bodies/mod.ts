/**
 * Large bodies: long base64 is detached from a JSON text while the rest is parsed, and reattached when it is sent.
 *
 * Promise: what is sent is what was received, byte for byte; every byte of a large body is scanned on
 * another thread than the one that serves sockets; all large bodies together take no more memory than
 * their pool, and each account no more than its share.
 * Leaves to others: which fields may hold base64 (`dialects/`), which images are accepted (`images/`).
 *
 * @module
 */

export {
  CHUNK_BYTES,
  type ChunkedBody,
  DetachedBase64,
  type JsonBody,
  MIN_CHARS,
} from "./detached_base64.ts";
export { LargeBodies } from "./large_bodies.ts";
