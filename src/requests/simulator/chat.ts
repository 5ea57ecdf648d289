import {
  isObject,
  type JsonObject,
  type JsonValue,
  objects,
  text,
} from "../../wire/dialects/mod.ts";
import { inspectDataUrl, type Picture } from "../../wire/pixels/mod.ts";
import { ownText } from "./own_text.ts";
import type { SimulatedAsk } from "./plan.ts";
import { promptIndex } from "./prompt_index.ts";

/** Reads a chat body the way a lenient upstream does. */
export function readChatAsk(body: JsonObject): SimulatedAsk {
  const messages = objects(body.messages);
  const lastUser = promptIndex(messages.map(({ role, content }) => ({
    isUser: role === "user",
    hasResults: role === "tool" || role === "function",
    isEmpty: () => ownText(textsOf(content)).trim() === "" && !hasImages(content),
  })));
  const since = messages.slice(lastUser + 1);
  const user = messages[lastUser];
  const model = text(body.model) ?? "";
  const format = isObject(body.response_format) ? body.response_format : {};
  const jsonSchema = isObject(format.json_schema) ? format.json_schema.schema : undefined;
  return {
    model,
    stream: body.stream === true,
    maxOutput: number(body.max_completion_tokens) ?? number(body.max_tokens) ?? 1_024,
    choices: number(body.n) ?? 1,
    input: inputOf(body, messages),
    prompt: user === undefined ? "" : ownText(textsOf(user.content)),
    message: textOf(user?.content),
    toolResults: since.filter(({ role }) => role === "tool").map(({ content }) => textOf(content)),
    step: since.filter(({ tool_calls: calls }) => Array.isArray(calls) && calls.length > 0).length,
    images: user === undefined ? [] : imagesOf(user.content),
    tools: objects(body.tools).flatMap(({ function: tool }) =>
      isObject(tool)
        ? [{
          name: text(tool.name) ?? "",
          schema: isObject(tool.parameters) ? tool.parameters : { type: "object", properties: {} },
        }]
        : []
    ),
    toolChoice: choiceOf(body.tool_choice),
    parallelTools: body.parallel_tool_calls !== false,
    reasons: reasons(body, model),
    stop: typeof body.stop === "string"
      ? [body.stop]
      : Array.isArray(body.stop)
      ? body.stop.filter((one) => typeof one === "string")
      : [],
    schema: isObject(jsonSchema)
      ? jsonSchema
      : format.type === "json_object"
      ? { type: "object", properties: { answer: { type: "string" } } }
      : undefined,
  };
}

/** An error in the chat dialect. */
export function chatError(status: number): JsonObject {
  const message = status === 400
    ? "Simulated refusal of the request (status 400)"
    : `Simulated failure with status ${status}`;
  return { error: { message, type: "simulated_error", code: `simulated_${status}`, param: null } };
}

/** Reasons when asked to, or when the model is one that always does. */
function reasons(body: JsonObject, model: string): boolean {
  const effort = body.reasoning_effort ?? undefined;
  if (effort !== undefined) return effort !== "none";
  return isObject(body.thinking) && body.thinking.type === "enabled" ||
    /k2\.7|k3/.test(model);
}

function inputOf(body: JsonObject, messages: readonly JsonObject[]): string {
  const said = messages.map((message) => {
    const calls = objects(message.tool_calls).map((call) => JSON.stringify(call.function ?? {}));
    const reasoning = text(message.reasoning_content) ?? "";
    return [textOf(message.content), reasoning, ...calls].join("\n");
  });
  const tools = Array.isArray(body.tools) ? [JSON.stringify(body.tools)] : [];
  return [...said, ...tools].join("\n");
}

function textOf(content: JsonValue | undefined): string {
  return textsOf(content).join("\n");
}

function textsOf(content: JsonValue | undefined): string[] {
  const whole = text(content);
  return whole !== undefined ? [whole] : objects(content).flatMap((part) => text(part.text) ?? []);
}

function hasImages(content: JsonValue | undefined): boolean {
  return objects(content).some(({ type }) => type === "image_url");
}

function imagesOf(content: JsonValue | undefined): (Picture | undefined)[] {
  return objects(content).filter(({ type }) => type === "image_url").map(({ image_url: image }) => {
    const url = text(image) ?? (isObject(image) ? text(image.url) : undefined) ?? "";
    return inspectDataUrl(url);
  });
}

function choiceOf(choice: JsonValue | undefined): SimulatedAsk["toolChoice"] {
  if (choice === "none" || choice === "required") return choice;
  if (isObject(choice) && isObject(choice.function)) {
    return { name: text(choice.function.name) ?? "" };
  }
  return "auto";
}

function number(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && value > 0 ? Math.floor(value) : undefined;
}
