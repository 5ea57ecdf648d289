/**
 * The chat dialect: `POST /v1/chat/completions`.
 *
 * Promise: a body is validated as documented and otherwise stays the object that it was.
 * Leaves to others: what other dialects make of it; nothing in here knows one.
 *
 * @module
 */

import type { Dialect } from "../dialect.ts";
import { chatBack } from "./back.ts";
import { chatCarry } from "./carry.ts";
import { chatFront } from "./front.ts";

/** The chat dialect. */
export const chat: Dialect = { front: chatFront, back: chatBack, carry: chatCarry };
