/**
 * The messages dialect: `POST /v1/messages` and `POST /v1/messages/count_tokens`.
 *
 * Promise: nothing that a coding tool sends fails because an upstream cannot say it; a stream is
 * well-formed whatever the upstream sends.
 * Leaves to others: what other dialects make of it; nothing in here knows one.
 *
 * @module
 */

import type { Dialect } from "../dialect.ts";
import { messagesBack } from "./back.ts";
import { messagesCarry } from "./carry.ts";
import { messagesFront } from "./front.ts";

export { messagesErrorWords } from "./errors.ts";

/** The messages dialect. */
export const messages: Dialect = {
  front: messagesFront,
  back: messagesBack,
  carry: messagesCarry,
};
