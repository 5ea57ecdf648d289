import { invalid } from "../../refusal.ts";
import type { Asked } from "../bridge.ts";
import { isObject, items, type JsonObject, type JsonValue, objects, text } from "../json.ts";
import type { Conversation, Part, Tool, ToolCall, Turn } from "../neutral.ts";

/** Fields that the neutral form holds, or that are ours to decide. */
const UNDERSTOOD = new Set([
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
]);

/** A chat request in the neutral form. */
export function chatToNeutral({ body }: Asked): Conversation {
  const messages = objects(body.messages);
  const isInstruction = ({ role }: JsonObject) => role === "system" || role === "developer";
  const lead = messages.findIndex((message) => !isInstruction(message));
  const leading = messages.slice(0, lead < 0 ? messages.length : lead);
  const format = isObject(body.response_format) ? body.response_format : {};
  const schema = isObject(format.json_schema) ? format.json_schema.schema : undefined;
  const instructions = leading.map(({ content }) => textOf(content));
  if (format.type === "json_object") {
    instructions.push("Answer with a single JSON object and nothing else.");
  }
  return {
    instructions: instructions.filter((one) => one !== "").join("\n\n"),
    turns: messages.slice(leading.length).map((message) =>
      isInstruction(message)
        ? { role: "system", text: textOf(message.content) } as const
        : turnOf(message)
    ),
    tools: objects(body.tools).map(toolOf),
    toolChoice: choiceOf(body.tool_choice),
    parallelTools: typeof body.parallel_tool_calls === "boolean"
      ? body.parallel_tool_calls
      : undefined,
    temperature: typeof body.temperature === "number" ? body.temperature : undefined,
    topP: typeof body.top_p === "number" ? body.top_p : undefined,
    stop: typeof body.stop === "string"
      ? [body.stop]
      : items(body.stop).filter((one) => typeof one === "string"),
    schema: isObject(schema) ? schema : undefined,
    ignored: Object.keys(body).filter((field) =>
      !UNDERSTOOD.has(field) && (body[field] ?? undefined) !== undefined
    ),
  };
}

function turnOf(message: JsonObject): Turn {
  if (message.role === "tool") {
    return {
      role: "tool",
      callId: text(message.tool_call_id) ?? "",
      parts: partsOf(message.content),
      failed: false,
    };
  }
  if (message.role !== "assistant") return { role: "user", parts: partsOf(message.content) };
  return {
    role: "assistant",
    reasoning: text(message.reasoning_content) ?? text(message.reasoning) ?? "",
    text: textOf(message.content) || (text(message.refusal) ?? ""),
    calls: objects(message.tool_calls).map((call): ToolCall => {
      const own = isObject(call.function) ? call.function : {};
      return {
        id: text(call.id) ?? "",
        name: text(own.name) ?? "",
        args: text(own.arguments) ?? "",
      };
    }),
  };
}

function partsOf(content: JsonValue | undefined): Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return objects(content).map((part): Part => {
    if (part.type === "image_url") {
      const url = text(part.image_url) ??
        (isObject(part.image_url) ? text(part.image_url.url) : undefined);
      return { type: "image", url: url ?? "" };
    }
    if (part.type === "file" && isObject(part.file) && text(part.file.file_data) !== undefined) {
      return { type: "document", title: text(part.file.filename), url: text(part.file.file_data)! };
    }
    if (text(part.text) === undefined) {
      throw invalid(
        "messages",
        `A part of type '${text(part.type)}' cannot be sent to this model's upstream.`,
      );
    }
    return { type: "text", text: text(part.text)! };
  });
}

function textOf(content: JsonValue | undefined): string {
  return text(content) ??
    objects(content).map((part) => text(part.text) ?? text(part.refusal) ?? "").join("");
}

function toolOf(tool: JsonObject): Tool {
  const own = tool.function;
  if (!isObject(own)) {
    throw invalid(
      "tools",
      `A tool of type '${text(tool.type)}' cannot be offered by this model's upstream.`,
    );
  }
  return {
    name: text(own.name) ?? "",
    description: text(own.description),
    schema: isObject(own.parameters) ? own.parameters : { type: "object", properties: {} },
    strict: typeof own.strict === "boolean" ? own.strict : undefined,
  };
}

function choiceOf(choice: JsonValue | undefined): Conversation["toolChoice"] {
  if (choice === "auto" || choice === "none" || choice === "required") return choice;
  if (isObject(choice) && isObject(choice.function)) {
    return { name: text(choice.function.name) ?? "" };
  }
  return undefined;
}
