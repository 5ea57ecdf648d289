import { DroppedFields } from "../dropped_fields.ts";
import { entryOf, isObject, type JsonObject, objects, text } from "../json.ts";

/** Fields of a request that the neutral form holds, or that the gateway sets itself. */
const UNDERSTOOD = [
  "model",
  "messages",
  "max_tokens",
  "max_completion_tokens",
  "n",
  "stream",
  "stream_options",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "temperature",
  "top_p",
  "stop",
  "response_format",
  "thinking",
  "reasoning_effort",
];

/** The same for those that are understood if they are texts. */
const TEXTS = ["verbosity", "service_tier", "prompt_cache_key"];

/** Fields of the messages of each role. */
const MESSAGES: Readonly<Record<string, readonly string[]>> = {
  system: ["content"],
  developer: ["content"],
  user: ["content"],
  assistant: ["content", "tool_calls", "refusal", "reasoning_content", "reasoning"],
  tool: ["content", "tool_call_id"],
};

/** Fields of each kind of content part. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  text: ["text"],
  refusal: ["refusal"],
  image_url: ["image_url"],
  file: ["file"],
};

/**
 * Names what the neutral form of a chat request leaves out.
 *
 * @param used Names of further fields that it holds.
 */
export function droppedFields(body: JsonObject, used: readonly string[]): string[] {
  const dropped = new DroppedFields();
  const texts = TEXTS.filter((field) => text(body[field]) !== undefined);
  const logprobs = body.logprobs === false ? ["logprobs"] : [];
  const wanted = body.logprobs === true ? ["logprobs", "top_logprobs"] : logprobs;
  dropped.addOthers(body, "", [...UNDERSTOOD, ...texts, ...wanted, ...used]);
  addOptions(dropped, body);
  for (const tool of objects(body.tools)) {
    dropped.addOthers(tool, "tools", ["type", "function", "custom"]);
    if (isObject(tool.custom)) {
      dropped.addOthers(tool.custom, "tools", ["name", "description", "format"]);
    }
    if (!isObject(tool.function)) continue;
    dropped.addOthers(tool.function, "tools", ["name", "description", "parameters", "strict"]);
  }
  for (const message of objects(body.messages)) addMessage(dropped, message);
  return dropped.names;
}

function addOptions(dropped: DroppedFields, body: JsonObject): void {
  const { stream_options: options, thinking, response_format: format, tool_choice: choice } = body;
  if (isObject(options)) dropped.addOthers(options, "stream_options", ["include_usage"]);
  if (isObject(thinking)) {
    const isBudget = typeof thinking.budget_tokens === "number";
    dropped.addOthers(thinking, "thinking", isBudget ? ["type", "budget_tokens"] : ["type"]);
  }
  const isChoice = typeof choice === "string" ||
    isObject(choice) && ["function", "custom", "allowed_tools"].includes(text(choice.type) ?? "");
  const isMissed = !isChoice || objects(body.tools).length === 0;
  if ((choice ?? undefined) !== undefined && isMissed) dropped.add("tool_choice");
  if (!isObject(format)) return;
  dropped.addOthers(format, "response_format", ["type", "json_schema"]);
  if (!isObject(format.json_schema)) return;
  dropped.addOthers(format.json_schema, "response_format", [
    "name",
    "schema",
    "strict",
    ...(isObject(format.json_schema.schema) ? ["description"] : []),
  ]);
}

function addMessage(dropped: DroppedFields, message: JsonObject): void {
  const role = text(message.role) ?? "";
  dropped.addOthers(message, "messages", ["role", ...entryOf(MESSAGES, role) ?? []]);
  const { reasoning_content: own, reasoning } = message;
  if (text(own) && text(reasoning) && own !== reasoning) dropped.add("messages.reasoning");
  for (const part of objects(message.content)) addPart(dropped, part, role);
  for (const call of objects(message.tool_calls)) {
    dropped.addOthers(call, "tool_calls", ["id", "type", "index", "function", "custom"]);
    if (!isObject(call.function)) continue;
    dropped.addOthers(call.function, "tool_calls", ["name", "arguments"]);
  }
}

function addPart(dropped: DroppedFields, part: JsonObject, role: string): void {
  const type = text(part.type) ?? "";
  const hasOnlyText = role !== "user" && role !== "tool";
  const hasText = text(part.text) !== undefined || type === "refusal";
  if (hasOnlyText && !hasText) return dropped.add(`messages.${type}`);
  const understood = Object.hasOwn(PARTS, type) ? PARTS[type]! : ["text"];
  dropped.addOthers(part, type, ["type", ...understood]);
  if (type === "image_url" && isObject(part.image_url)) {
    dropped.addOthers(part.image_url, type, ["url", "detail"]);
  }
  if (type === "file" && isObject(part.file)) {
    dropped.addOthers(part.file, type, ["file_data", "filename"]);
  }
}
