import type { Refusal } from "../../refusal.ts";
import { chatErrorBody, chatErrorWords } from "../chat/errors.ts";
import type { JsonObject } from "../json.ts";

/** How each reason is called: as in the chat dialect. */
export const responsesErrorWords = chatErrorWords;

/** A refusal in the words of the responses dialect, where no stream has begun. */
export function responsesErrorBody(refusal: Refusal): JsonObject {
  return chatErrorBody(refusal);
}

/** The last event of a stream of which nothing was written. */
export function responsesErrorEvent(refusal: Refusal): string {
  const { error } = responsesErrorBody(refusal);
  return `event: error\ndata: ${JSON.stringify({ type: "error", error })}\n\n`;
}

/** A refusal as the error of a response that failed. */
export function responseError({ message }: Refusal): JsonObject {
  return { code: "server_error", message };
}
