/**
 * Large bodies: long runs of base64 stand aside while the rest of a JSON text is read and written.
 *
 * Promise: what is written is what was read, byte for byte; each byte of a large body is looked at on
 * another thread than the one that serves sockets; all large bodies together hold no more memory than
 * their pool, and each account no more than its share.
 * Leaves to others: which fields may hold base64 (`dialects/`), which images are let in (`images/`).
 *
 * @module
 */

export { Blobs, type JsonBody, LEAST_CHARS, PORTION, type Portions, type Turn } from "./blobs.ts";
export { LargeBodies } from "./large_bodies.ts";
