import type { ReplyContext, ReplyWriter } from "../dialect.ts";
import type { JsonObject } from "../json.ts";
import type { ReplyEvent } from "../neutral/conversation.ts";
import type { Usage } from "../usage.ts";

/** Writes neutral events as a response. */
export class ResponsesWriter implements ReplyWriter {
  finished = false;

  constructor(_context: ReplyContext) {}

  write(_event: ReplyEvent): string {
    throw new Error("not written yet");
  }

  close(_usage: Usage): string {
    throw new Error("not written yet");
  }

  ping(): string {
    throw new Error("not written yet");
  }

  whole(_events: readonly ReplyEvent[]): (usage: Usage) => JsonObject {
    throw new Error("not written yet");
  }
}
