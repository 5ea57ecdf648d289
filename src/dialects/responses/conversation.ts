import type { ParsedRequest } from "../dialect.ts";
import type { Conversation } from "../neutral/conversation.ts";

/** A responses request in neutral form. */
export function toConversation(_request: ParsedRequest): Conversation {
  throw new Error("not written yet");
}
