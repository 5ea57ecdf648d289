/**
 * Who did what: actors, the log of operations, and the replies that a repeated write gets again.
 *
 * Promise: a row of the log is written in the transaction of what it records (P13); replies are kept encrypted, for a day. Leaves to
 * others: what operations are, and who may carry them out (`operations/`).
 *
 * @module
 */

export * from "./actor.ts";
export * from "./log.ts";
export * from "./operation_error.ts";
export { OWNER_SIGN_IN, recordStatement } from "./record.ts";
export * from "./requests.ts";
