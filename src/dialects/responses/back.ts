import type {
  Back,
  EventReader,
  ReadReply,
  WriteConversationOptions,
  WrittenRequest,
} from "../dialect.ts";
import type { Conversation } from "../neutral/conversation.ts";

/** Responses as upstreams speak it. */
export const responsesBack: Back = {
  path: "/responses",
  authorization: (key) => ({ authorization: `Bearer ${key}` }),
  versionHeaders: () => ({}),
  write,
  readReply,
  reader,
};

function write(_conversation: Conversation, _options: WriteConversationOptions): WrittenRequest {
  throw new Error("not written yet");
}

function readReply(_body: unknown): ReadReply {
  throw new Error("not written yet");
}

function reader(): EventReader {
  throw new Error("not written yet");
}
