/**
 * The messages dialect: `POST /v1/messages`. So far its errors only.
 *
 * @module
 */

export { messagesErrorBody } from "./errors.ts";
