import type { Back, WriteConversationOptions, WrittenRequest } from "../dialect.ts";
import type { JsonObject } from "../json.ts";
import type { Conversation } from "../neutral/conversation.ts";
import { fitSampling } from "../sampling.ts";
import { offeredNames } from "./departures.ts";
import { ChatReader, readChatReply } from "./read_reply.ts";
import { changedNames } from "../neutral/tool_names.ts";
import { writeConversation } from "./write.ts";

/** Chat as upstreams speak it. */
export const chatBack: Back = {
  path: "/chat/completions",
  authorization: (key) => ({ authorization: `Bearer ${key}` }),
  versionHeaders: () => ({}),
  write,
  readReply: readChatReply,
  reader: (options) => new ChatReader(options),
};

function write(conversation: Conversation, options: WriteConversationOptions): WrittenRequest {
  const { model, permittedOutput, shaping, stream, fields } = options;
  const written = writeConversation(conversation, options);
  const sent: JsonObject = {
    model,
    ...written.body,
    [shaping.outputLimit ?? "max_tokens"]: permittedOutput,
  };
  const dropped = written.dropped.map((concept) => fields[concept]);
  dropped.push(...fitSampling(sent, shaping, ["temperature", "top_p", "top_k"]));
  const { cacheKey } = conversation;
  if (shaping.promptCacheKey && cacheKey !== undefined) sent.prompt_cache_key = cacheKey;
  else if (cacheKey !== undefined) dropped.push(fields.cacheKey);
  const { enabled, effort } = conversation.reasoning;
  if (enabled !== undefined) sent.thinking = { type: enabled ? "enabled" : "disabled" };
  if (effort !== undefined) sent.reasoning_effort = effort;
  if (stream) {
    sent.stream = true;
    sent.stream_options = { include_usage: true };
  }
  const { takesMarks } = written;
  const toolNames = changedNames(conversation.tools);
  return { body: sent, dropped, takesMarks, toolNames, offered: offeredNames(sent) };
}
