/**
 * HTTP/1.1 from the client's side (RFC 9112): requests over connections that are kept, and responses read as they come.
 *
 * Promise: one request is sent exactly once. A response that leaves in doubt where it ends is an error. Nothing is read that nobody waits
 * for, and no connection is used again before its response was read to the end, or after anything odd. Time, sizes and counts are bounded.
 * Leaves to others: how a connection is made, and where to (`ways_out/`), content codings, and what becomes of a failure.
 *
 * @module
 */

export type { HttpSocket } from "./connection.ts";
export { decodedBody } from "./decoded_body.ts";
export { HttpFault } from "./http_fault.ts";
export { HttpPool, type HttpPoolOptions } from "./pool.ts";
export type { HttpReply, MakeFault } from "./reply.ts";
export type { Headers } from "./response_head.ts";
