import type * as z from "zod";
import { invalid, Refusal } from "../../../ground/refusal.ts";
import type { ParsedRequest } from "../dialect.ts";
import { isObject, items, type JsonObject, objects, text } from "../json.ts";
import { RequestMedia } from "../media.ts";
import { validate } from "../validation.ts";
import { blockSchema, countRequest, messagesRequest } from "./schema.ts";

/** What the headers say about a body. */
export interface ParseOptions {
  /** The client sends beta features: the body may hold what only they allow. */
  readonly hasBeta: boolean;
}

/** @throws {Refusal} `request_invalid` naming the first field at fault. */
export function parseMessages(body: unknown, options: ParseOptions): ParsedRequest {
  const request = check(messagesRequest, body, options);
  rejectThread(body as JsonObject);
  return {
    body: body as JsonObject,
    model: request.model,
    stream: request.stream ?? false,
    maxOutput: request.max_tokens,
    offersTools: items((body as JsonObject).tools).length > 0,
    choices: 1,
    ...mediaOf(body as JsonObject),
  };
}

/**
 * A thread's earlier messages are stored at one upstream, so they could be neither counted nor sent to another one.
 * SDKs know this error and continue with the whole conversation in each request.
 */
function rejectThread({ thread }: JsonObject): void {
  if ((thread ?? undefined) === undefined) return;
  throw new Refusal(
    "request_invalid",
    "thread: conversations are not stored. Send all messages in each request.",
    {
      param: "thread",
      details: { error_code: "thread_unsupported_request", unsupported: ["thread"] },
    },
  );
}

/** The same for a request that is only counted. */
export function parseCount(body: unknown, options: ParseOptions): ParsedRequest {
  const request = check(countRequest, body, options);
  return {
    body: body as JsonObject,
    model: request.model,
    stream: false,
    maxOutput: 1,
    offersTools: false,
    choices: 1,
    ...mediaOf(body as JsonObject),
  };
}

function check<S extends typeof countRequest>(
  schema: S,
  body: unknown,
  { hasBeta }: ParseOptions,
): z.infer<S> {
  validate(schema, body);
  for (const [at, message] of objects((body as JsonObject).messages).entries()) {
    if (message.role === "system" && !hasBeta) {
      throw invalid(
        `messages[${at}].role`,
        `messages[${at}].role must be "user" or "assistant": put instructions into the field system.`,
      );
    }
    // a reply that said nothing may be in the history
    if (
      message.role !== "assistant" && Array.isArray(message.content) && message.content.length === 0
    ) {
      const param = `messages[${at}].content`;
      throw invalid(param, `${param} must not be empty: got an empty array.`);
    }
    for (const [index, block] of items(message.content).entries()) {
      if (!isObject(block)) continue;
      const known = blockSchema(text(block.type) ?? "");
      if (known !== undefined) validate(known, block, ["messages", at, "content", index]);
    }
  }
  return body;
}

/** Images and videos of all messages, those inside tool results included. */
function mediaOf(body: JsonObject): RequestMedia {
  const media = new RequestMedia();
  const look = (block: unknown, param: string) => {
    if (!isObject(block)) return;
    const type = text(block.type) ?? "";
    if (type.includes("video")) media.videos.push(param);
    if (type === "tool_result" || type === "search_result") {
      items(block.content).forEach((inner, index) => look(inner, `${param}.content[${index}]`));
    }
    if (!isObject(block.source)) return;
    const { source } = block;
    const field = `${param}.source`;
    if (type === "document") {
      items(source.content).forEach((inner, index) => look(inner, `${field}.content[${index}]`));
      media.file(field, imageUrl(source) ?? "", 'a block of type "image"');
    }
    if (type !== "image") return;
    const url = imageUrl(source);
    if (url === undefined) throw invalid(field, `${field} must be of type "base64" or "url".`);
    media.image(field, url);
  };
  objects(body.messages).forEach((message, at) =>
    items(message.content).forEach((block, index) =>
      look(block, `messages[${at}].content[${index}]`)
    )
  );
  return media;
}

/** An image's or document's source as a URL; undefined for an unsupported kind. */
export function imageUrl(source: JsonObject): string | undefined {
  if (source.type === "url") return text(source.url);
  if (source.type !== "base64") return undefined;
  return `data:${text(source.media_type) ?? ""};base64,${text(source.data) ?? ""}`;
}
