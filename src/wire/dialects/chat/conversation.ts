import { invalid } from "../../../ground/refusal.ts";
import type { ParsedRequest } from "../dialect.ts";
import { isObject, items, type JsonObject, type JsonValue, objects, text } from "../json.ts";
import { cacheKeyOf } from "../cache_key.ts";
import {
  joinInstructions,
  lastMark,
  type Markable,
  type MarkedText,
  markLast,
  markOf,
} from "../neutral/cache_marks.ts";
import {
  type Conversation,
  imageOf,
  type Part,
  tierOf,
  type Tool,
  type ToolCall,
  type Turn,
} from "../neutral/conversation.ts";
import { addedByCustom, argsOfInput, functionFor } from "../neutral/custom_tools.ts";
import { readFormat } from "../neutral/output_format.ts";
import { isEffort, type ReasoningRequest } from "../reasoning.ts";
import { droppedFields } from "./dropped.ts";

/**
 * A chat request in neutral form.
 *
 * @throws {Refusal} `request_invalid` for what must not be dropped silently: functions, tools and calls of other
 *   kinds, content parts without text.
 */
export function toConversation({ body }: ParsedRequest): Conversation {
  if (items(body.functions).length > 0) {
    throw invalid(
      "functions",
      "functions cannot be carried to this model's upstream: offer them as tools.",
    );
  }
  const messages = objects(body.messages);
  const isInstruction = ({ role }: JsonObject) => role === "system" || role === "developer";
  const lead = messages.findIndex((message) => !isInstruction(message));
  const leading = messages.slice(0, lead < 0 ? messages.length : lead);
  const format = isObject(body.response_format) ? body.response_format : {};
  const allowed = allowedTools(body.tool_choice);
  const tools = objects(body.tools).filter((tool) => isAllowed(tool, allowed)).map(toolOf);
  if (allowed !== undefined && tools.length === 0) {
    throw invalid("tool_choice", "tool_choice allows no tool that is in tools.");
  }
  const topK = Number.isSafeInteger(body.top_k) ? body.top_k as number : undefined;
  const userFields = ["safety_identifier", "user"].filter((field) => isUserId(body[field]));
  const used = [...(topK === undefined ? [] : ["top_k"]), ...userFields];
  const cacheKey = text(body.prompt_cache_key);
  return {
    ...joinInstructions(leading.map(textsOf)),
    ...markOf(body),
    turns: messages.slice(leading.length).map((message) =>
      isInstruction(message)
        ? { role: "system", text: textOf(message.content), ...markIn(message) } as const
        : turnOf(message)
    ),
    tools,
    toolChoice: allowed === undefined ? choiceOf(body.tool_choice) : modeOf(allowed),
    parallelTools: typeof body.parallel_tool_calls === "boolean"
      ? body.parallel_tool_calls
      : undefined,
    temperature: typeof body.temperature === "number" ? body.temperature : undefined,
    topP: typeof body.top_p === "number" ? body.top_p : undefined,
    topK,
    cacheKey: cacheKey ? cacheKeyOf(cacheKey) : undefined,
    user: isUserId(body.user) ? body.user : undefined,
    safetyId: isUserId(body.safety_identifier) ? body.safety_identifier : undefined,
    stop: typeof body.stop === "string"
      ? [body.stop]
      : items(body.stop).filter((one) => typeof one === "string"),
    format: readFormat(format.type, isObject(format.json_schema) ? format.json_schema : {}),
    reasoning: reasoningOf(body),
    verbosity: text(body.verbosity),
    logprobs: body.logprobs !== true
      ? undefined
      : typeof body.top_logprobs === "number"
      ? body.top_logprobs
      : 0,
    serviceTier: tierOf(body),
    dropped: droppedFields(body, used),
    addedTokens: objects(body.tools).reduce(
      (sum, { custom }) =>
        sum + (isObject(custom) ? addedByCustom((custom.format ?? undefined) !== undefined) : 0),
      0,
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
      ...markOf(message),
    };
  }
  if (message.role !== "assistant") {
    return { role: "user", parts: markLast(partsOf(message.content), markOf(message)) };
  }
  const refusal = refusalOf(message);
  return {
    role: "assistant",
    reasoning: text(message.reasoning_content) ?? text(message.reasoning) ?? "",
    text: textOf(message.content),
    ...(refusal === "" ? {} : { refusal }),
    calls: objects(message.tool_calls).map((call): ToolCall => {
      const id = text(call.id) ?? "";
      const { function: own, custom } = call;
      if (isObject(custom)) {
        return { id, name: text(custom.name) ?? "", args: argsOfInput(text(custom.input) ?? "") };
      }
      if (!isObject(own)) {
        throw invalid(
          "messages",
          `A tool call of type '${text(call.type)}' cannot be sent to this model's upstream.`,
        );
      }
      return {
        id,
        name: text(own.name) ?? "",
        args: text(own.arguments) ?? "",
      };
    }),
    ...markIn(message),
  };
}

function partsOf(content: JsonValue | undefined): Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return objects(content).map((part): Part => ({ ...partOf(part), ...markOf(part) }));
}

function partOf(part: JsonObject): Part {
  if (part.type === "image_url") {
    const url = text(part.image_url) ??
      (isObject(part.image_url) ? text(part.image_url.url) : undefined);
    const detail = isObject(part.image_url) ? part.image_url.detail : undefined;
    return imageOf(url ?? "", detail);
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
}

/** The texts of an instruction, each with its mark. */
function textsOf({ content, ...message }: JsonObject): MarkedText[] {
  const own = text(content);
  const texts = own !== undefined
    ? [{ text: own }]
    : objects(content).map((part) => ({ text: text(part.text) ?? "", ...markOf(part) }));
  return markLast(texts, markOf(message));
}

/** The mark of a message that becomes one text: its own, or the last of its parts. */
function markIn(message: JsonObject): Markable {
  return lastMark([...objects(message.content).map((part) => markOf(part)), markOf(message)]);
}

function textOf(content: JsonValue | undefined): string {
  return text(content) ?? objects(content).map((part) => text(part.text) ?? "").join("");
}

/** The words in which the model declined: in a field of their own, or in parts. */
function refusalOf({ refusal, content }: JsonObject): string {
  return (text(refusal) ?? "") ||
    objects(content).map((part) => text(part.refusal) ?? "").join("");
}

function toolOf(tool: JsonObject): Tool {
  const { function: own, custom } = tool;
  if (isObject(custom)) {
    const { format } = custom;
    const grammar = isObject(format) && isObject(format.grammar) ? format.grammar : undefined;
    const { name, description } = custom;
    return functionFor({ name: text(name) ?? "", description: text(description), grammar });
  }
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
    ...markOf(tool, own),
  };
}

/** Ids of end users, as far as other dialects accept them. */
function isUserId(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= 256;
}

/** A choice among some of the tools only. */
function allowedTools(choice: JsonValue | undefined): JsonObject | undefined {
  if (!isObject(choice) || choice.type !== "allowed_tools") return undefined;
  return isObject(choice.allowed_tools) ? choice.allowed_tools : choice;
}

function isAllowed(tool: JsonObject, allowed: JsonObject | undefined): boolean {
  const name = nameOf(tool);
  return allowed === undefined || name === undefined ||
    objects(allowed.tools).some((one) => (nameOf(one) ?? one.name) === name);
}

/** The name of a tool, or of one that is chosen. */
function nameOf({ function: own, custom }: JsonObject): JsonValue | undefined {
  return isObject(own) ? own.name : isObject(custom) ? custom.name : undefined;
}

function modeOf({ mode }: JsonObject): "auto" | "required" {
  return mode === "required" ? "required" : "auto";
}

/** As `applyReasoning` has left it. */
function reasoningOf({ thinking, reasoning_effort: effort }: JsonObject): ReasoningRequest {
  return {
    ...(isObject(thinking)
      ? {
        enabled: thinking.type === "enabled",
        ...(typeof thinking.budget_tokens === "number"
          ? { budgetTokens: thinking.budget_tokens }
          : {}),
      }
      : {}),
    ...(isEffort(effort) ? { effort } : {}),
  };
}

function choiceOf(choice: JsonValue | undefined): Conversation["toolChoice"] {
  if (choice === "auto" || choice === "none" || choice === "required") return choice;
  const name = isObject(choice) ? text(nameOf(choice)) : undefined;
  return name === undefined ? undefined : { name };
}
