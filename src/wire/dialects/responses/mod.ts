/**
 * The responses dialect: `POST /v1/responses`.
 *
 * @module
 */

import type { Dialect } from "../dialect.ts";
import { responsesBack } from "./back.ts";
import { responsesCarry } from "./carry.ts";
import { responsesFront } from "./front.ts";

/** The responses dialect. */
export const responses: Dialect = {
  front: responsesFront,
  back: responsesBack,
  carry: responsesCarry,
};

export {
  type ConnectionFault,
  connectionFault,
  type EndedTurn,
  errorFrame,
  TurnEvents,
  type TurnFault,
} from "./turn_events.ts";
export { readTurnFrame, turnBody, type TurnFrame } from "./turn_frame.ts";
export { writeResponsesUsage } from "./usage.ts";
