import { invalid } from "../../../ground/refusal.ts";
import { logprobsOf, type ParsedRequest } from "../dialect.ts";
import { isObject, items, type JsonObject, objects, text } from "../json.ts";
import { RequestMedia } from "../media.ts";
import { validate } from "../validation.ts";
import { type ChatRequest, chatRequest } from "./schema.ts";

/** @throws {Refusal} `request_invalid` naming the first field at fault. */
export function parseChat(body: unknown): ParsedRequest {
  validate(chatRequest, body);
  const request: ChatRequest = body;
  const own = body as JsonObject;
  checkMessages(request);
  checkTools(request);
  return {
    body: own,
    model: request.model,
    stream: request.stream ?? false,
    maxOutput: request.max_completion_tokens ?? request.max_tokens ?? undefined,
    offersTools: items(own.tools).length + items(own.functions).length > 0,
    choices: request.n ?? 1,
    logprobs: logprobsOf(own, own.logprobs === true),
    ...mediaOf(own),
  };
}

/** What the schema cannot say about messages. */
function checkMessages({ messages }: ChatRequest): void {
  messages.forEach((message, index) => {
    if ((message.content ?? undefined) !== undefined) return;
    const param = `messages[${index}].content`;
    if (message.role === "assistant") {
      if (!hasOutput(message)) {
        throw invalid(param, `${param} is required unless the assistant calls a tool.`);
      }
    } else if (!Array.isArray(message.tools)) {
      throw invalid(param, `${param} is required.`);
    }
  });
}

/** Whether an assistant's message holds something besides `content`. */
function hasOutput(message: Record<string, unknown>): boolean {
  return Array.isArray(message.tool_calls) && message.tool_calls.length > 0 ||
    ["function_call", "refusal", "audio", "reasoning_content", "reasoning", "reasoning_details"]
      .some((field) => message[field] !== undefined && message[field] !== null);
}

/** What the schema cannot say about tools. */
function checkTools({ tools, tool_choice: choice }: ChatRequest): void {
  tools?.forEach((tool, index) => {
    if (tool.type === "function" && tool.function === undefined) {
      const param = `tools[${index}].function`;
      throw invalid(param, `${param} is required for a tool of type "function".`);
    }
  });
  if (typeof choice !== "object" || choice === null || choice.type !== "function") return;
  const name = choice.function?.name;
  if (name === undefined) {
    throw invalid("tool_choice.function.name", "tool_choice.function.name is required.");
  }
  if (!tools?.some((tool) => tool.function?.name === name)) {
    throw invalid("tool_choice", `tool_choice names the tool '${name}', which is not in tools.`);
  }
}

/** Images and videos of all messages. */
function mediaOf(body: JsonObject): RequestMedia {
  const media = new RequestMedia();
  objects(body.messages).forEach((message, at) => {
    items(message.content).forEach((part, index) => {
      if (!isObject(part)) return;
      const type = text(part.type) ?? "";
      const param = `messages[${at}].content[${index}]`;
      if (type.includes("video")) {
        media.videos.push(param);
      } else if (type === "image_url") {
        const field = `${param}.image_url`;
        const url = urlOf(part.image_url);
        if (url === undefined) {
          throw invalid(field, `${field} must be an object with a url, or a string.`);
        }
        media.image(field, url);
      } else if (type.includes("image")) {
        throw invalid(`${param}.type`, `${param} must be of type "image_url" to hold an image.`);
      } else if (isObject(part.file)) {
        const data = text(part.file.file_data) ?? "";
        media.file(`${param}.file`, data, 'a part of type "image_url"');
      }
    });
  });
  return media;
}

function urlOf(image: unknown): string | undefined {
  return text(image) ?? (isObject(image) ? text(image.url) : undefined);
}
