/**
 * The responses dialect: `POST /v1/responses`.
 *
 * `request/` reads what a client sends, `upstream/` writes for an upstream and reads its reply, `reply/` writes what the client
 * gets, `carry/` sends on what both sides speak, and `socket/` has the frames of its WebSocket.
 *
 * @module
 */

import type { Dialect } from "../dialect.ts";
import { responsesBack } from "./back.ts";
import { responsesCarry } from "./carry/carry.ts";
import { responsesFront } from "./front.ts";

/** The responses dialect. */
export const responses: Dialect = {
  front: responsesFront,
  back: responsesBack,
  carry: responsesCarry,
};

export { keptItem } from "./items.ts";
export { connectionFault, errorFrame, TurnEvents, type TurnFault } from "./socket/events.ts";
export { readTurnFrame, streamIdOf, turnBody, type TurnFrame } from "./socket/frame.ts";
