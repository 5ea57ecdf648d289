import { TokenCounter } from "../../tokens/mod.ts";
import type { Asked } from "../bridge.ts";
import { documentTokens } from "../document_tokens.ts";
import { imageTokens } from "../image_tokens.ts";
import { isObject, type JsonObject, objects, text } from "../json.ts";

/** Tokens that frame each message. */
const PER_MESSAGE = 4;

/** Input tokens of a chat body: instructions, messages, tool calls and results, tools, images, documents. */
export function countChatInput({ body, images }: Asked): number {
  const counter = new TokenCounter();
  let more = 3;
  for (const message of objects(body.messages)) {
    more += PER_MESSAGE + addMessage(counter, message);
  }
  for (const tool of objects(body.tools)) counter.add(`${JSON.stringify(tool)}\n`);
  if (isObject(body.response_format)) counter.add(JSON.stringify(body.response_format));
  return counter.tokens + more + imageTokens(images);
}

/** Counts texts; answers the tokens of documents. */
function addMessage(counter: TokenCounter, message: JsonObject): number {
  let documents = 0;
  for (const field of ["content", "reasoning_content", "refusal", "name"]) {
    const value = text(message[field]);
    if (value !== undefined) counter.add(`${value}\n`);
  }
  for (const part of objects(message.content)) {
    const value = text(part.text) ?? text(part.refusal);
    if (value !== undefined) counter.add(`${value}\n`);
    const file = isObject(part.file) ? text(part.file.file_data) : undefined;
    if (file !== undefined) documents += documentTokens(file);
  }
  for (const call of objects(message.tool_calls)) {
    if (!isObject(call.function)) continue;
    counter.add(`${text(call.function.name) ?? ""}${text(call.function.arguments) ?? ""}\n`);
  }
  return documents;
}
