import type { Refusal } from "../../../ground/refusal.ts";
import { openAiErrorBody } from "../error_words.ts";

/** The last event of a chat stream that failed; no `[DONE]` follows. */
export function chatErrorEvent(refusal: Refusal): string {
  return `data: ${JSON.stringify(openAiErrorBody(refusal))}\n\n`;
}
