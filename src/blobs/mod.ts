/**
 * Large bodies: long runs of base64 stand aside while the rest of a JSON text is read and written.
 *
 * Promise: what is written is what was read, byte for byte; each byte of a large body is looked at on
 * another thread than the one that serves sockets; all large bodies together hold no more than their
 * budget.
 * Leaves to others: which fields may hold base64 (`dialects/`), which images are let in (`images/`).
 *
 * @module
 */

export { Blobs, type JsonBody, LEAST_CHARS, PORTION, type Portions } from "./blobs.ts";
export { ByteBudget, type Share } from "./byte_budget.ts";
export { LargeBodies } from "./large_bodies.ts";
