import { TokenCounter } from "../../tokens/mod.ts";
import type { Asked } from "../bridge.ts";
import { documentTokens } from "../document_tokens.ts";
import { imageTokens } from "../image_tokens.ts";
import { isObject, items, type JsonValue, objects, text } from "../json.ts";
import { imageUrl } from "./read.ts";

/** Tokens that frame each message. */
const PER_MESSAGE = 4;

/** Input tokens of a messages body: system, messages, tool calls and results, tools, images, documents. */
export function countMessagesInput({ body, images }: Asked): number {
  const counter = new TokenCounter();
  let more = 3 + addContent(counter, body.system);
  for (const message of objects(body.messages)) {
    more += PER_MESSAGE + addContent(counter, message.content);
  }
  const { format } = isObject(body.output_config) ? body.output_config : {};
  if (format !== undefined) counter.add(`${JSON.stringify(format)}\n`);
  for (const tool of objects(body.tools)) counter.add(`${JSON.stringify(tool)}\n`);
  return counter.tokens + more + imageTokens(images);
}

/** Counts texts; answers the tokens of documents that are none. */
function addContent(counter: TokenCounter, content: JsonValue | undefined): number {
  let documents = 0;
  if (typeof content === "string") counter.add(`${content}\n`);
  for (const block of items(content)) {
    if (!isObject(block)) continue;
    for (const field of ["text", "thinking", "name", "title", "context"]) {
      const said = text(block[field]);
      if (said !== undefined) counter.add(`${said}\n`);
    }
    if (block.type === "tool_use") counter.add(`${JSON.stringify(block.input ?? {})}\n`);
    if (block.type === "tool_result" || block.type === "search_result") {
      documents += addContent(counter, block.content);
    }
    if (block.type === "document" && isObject(block.source)) {
      const { type, data, content } = block.source;
      const url = imageUrl(block.source);
      documents += url === undefined
        ? addContent(counter, type === "text" ? data : content)
        : documentTokens(url);
    }
  }
  return documents;
}
