import { invalid } from "../../../ground/refusal.ts";
import type { ParsedRequest } from "../dialect.ts";
import { isObject, items, type JsonObject, type JsonValue, objects, text } from "../json.ts";
import { readUserIds, RequestFields } from "../request_fields.ts";
import { cacheKeyOf } from "../cache_key.ts";
import {
  joinInstructions,
  lastMark,
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
import { NO_ARGUMENTS } from "../neutral/call_args.ts";
import { addedByCustom, argsOfInput, functionFor } from "../neutral/custom_tools.ts";
import { chatImages } from "../neutral/made_images.ts";
import { readFormat } from "../neutral/output_format.ts";
import { inputSchema } from "../neutral/schemas.ts";
import { hasOwnSeal, signaturesIn } from "./signatures.ts";
import { isEffort, type ReasoningRequest } from "../reasoning.ts";

/**
 * A chat request in neutral form.
 *
 * @throws {Refusal} `request_invalid` for what must not be dropped silently: functions, tools and calls of other
 *   kinds, content parts without text.
 */
export function toConversation(request: ParsedRequest): Conversation {
  const body = new RequestFields(request.body);
  const { functions, tool_choice: choice, top_k: topK, seed } = body.object;
  if (items(functions).length > 0) {
    throw invalid(
      "functions",
      "functions cannot be carried to this model's upstream: offer them as tools.",
    );
  }
  // the gateway sets them itself
  body.ignore("model", "n", "stream", "max_tokens", "max_completion_tokens");
  body.inner("stream_options", "stream_options")?.ignore("include_usage");
  const allowed = allowedTools(choice);
  const names = allowed &&
    new Set(objects(allowed.tools).map((one) => nameOf(one) ?? one.name));
  const offered = body.list("tools", () => "tools");
  const tools = offered.map(toolOf).filter((_, at) => {
    const name = nameOf(offered[at]!.object);
    return names === undefined || name === undefined || names.has(name);
  });
  if (allowed !== undefined && tools.length === 0) {
    throw invalid("tool_choice", "tool_choice allows no tool that is in tools.");
  }
  const toolChoice = allowed === undefined ? choiceOf(choice) : modeOf(allowed);
  if (tools.length > 0) body.use("tool_choice", toolChoice);
  const messages = body.list("messages", () => "messages");
  const lead = messages.findIndex((message) => !isInstruction(message));
  const leading = messages.slice(0, lead < 0 ? messages.length : lead);
  const format = body.inner("response_format", "response_format");
  const stop = body.get("stop");
  const cacheKey = body.text("prompt_cache_key");
  body.text("service_tier");
  return {
    ...joinInstructions(leading.map(instructionOf)),
    ...markOf(body.object),
    turns: messages.slice(leading.length).map((message) => turnOf(message, request.opened)),
    tools,
    toolChoice,
    parallelTools: body.boolean("parallel_tool_calls"),
    temperature: body.number("temperature"),
    topP: body.number("top_p"),
    topK: body.use("top_k", Number.isSafeInteger(topK) ? topK as number : undefined),
    seed: body.use("seed", Number.isSafeInteger(seed) ? seed as number : undefined),
    presencePenalty: body.number("presence_penalty"),
    frequencyPenalty: body.number("frequency_penalty"),
    cacheKey: cacheKey ? cacheKeyOf(cacheKey) : undefined,
    ...readUserIds(body),
    stop: typeof stop === "string" ? [stop] : items(stop).filter((one) => typeof one === "string"),
    format: format && readFormat(format.get("type"), format.inner("json_schema")),
    reasoning: reasoningOf(body),
    verbosity: body.text("verbosity"),
    logprobs: body.boolean("logprobs") ? body.number("top_logprobs") ?? 0 : undefined,
    serviceTier: tierOf(body.object),
    dropped: body.dropped,
    addedTokens: objects(body.object.tools).reduce(
      (sum, { custom }) =>
        sum + (isObject(custom) ? addedByCustom((custom.format ?? undefined) !== undefined) : 0),
      0,
    ),
  };
}

function isInstruction({ object: { role } }: RequestFields): boolean {
  return role === "system" || role === "developer";
}

function turnOf(message: RequestFields, opened: ParsedRequest["opened"]): Turn {
  if (isInstruction(message)) {
    const texts = instructionOf(message);
    const { cached } = lastMark(texts);
    return { role: "system", text: texts.map(({ text }) => text).join(""), cached };
  }
  const role = message.text("role");
  const mark = markOf(message.object);
  if (role === "tool") {
    const callId = message.text("tool_call_id") ?? "";
    return { role, callId, parts: partsOf(message), failed: false, ...mark };
  }
  if (role !== "assistant") return { role: "user", parts: markLast(partsOf(message), mark) };
  const pieces = piecesOf(message);
  // the words in which the model declined: in a field of their own, or in parts
  const refusal = message.text("refusal") || pieces.map((one) => one.refusal).join("");
  const own = message.text("reasoning_content");
  const { reasoning } = message.object;
  const isSame = !own || !text(reasoning) || own === reasoning;
  const { cached } = lastMark([...pieces, mark]);
  const sealed = signaturesIn(message.object, opened);
  const images = chatImages(message.object); // named as dropped: most upstreams take none here
  if (objects(message.object.images).length > images.length) {
    message.miss("messages.images.image_url");
  }
  if (hasOwnSeal(message.object)) message.ignore("extra_content");
  return {
    role,
    ...(sealed.length === 0 ? {} : { sealed }),
    reasoning: own ?? message.use("reasoning", isSame ? text(reasoning) : undefined) ?? "",
    text: pieces.map(({ text }) => text).join(""),
    ...(refusal === "" ? {} : { refusal }),
    ...(images.length === 0 ? {} : { images }),
    calls: message.list("tool_calls", () => "tool_calls").map(callOf),
    cached,
  };
}

function callOf(call: RequestFields): ToolCall {
  call.ignore("index");
  if (hasOwnSeal(call.object)) call.ignore("extra_content");
  const id = call.text("id") ?? "";
  const { type } = call;
  const { custom } = call.object;
  if (isObject(custom)) {
    call.ignore("custom", "function");
    return { id, name: text(custom.name) ?? "", args: argsOfInput(text(custom.input) ?? "") };
  }
  const own = call.inner("function");
  if (own === undefined) {
    throw invalid(
      "messages",
      `A tool call of type '${type}' cannot be sent to this model's upstream.`,
    );
  }
  const args = own.text("arguments") ?? "";
  // many upstreams parse it, and nothing is no JSON
  return { id, name: own.text("name") ?? "", args: args.trim() === "" ? NO_ARGUMENTS : args };
}

function partsOf(message: RequestFields): Part[] {
  return message.textOrList("content").map((part): Part => ({
    ...partOf(part),
    ...markOf(part.object),
  }));
}

function partOf(part: RequestFields): Part {
  const { type } = part;
  if (type === "image_url") {
    const image = part.inner("image_url");
    return imageOf(image?.text("url") ?? part.text("image_url") ?? "", image?.get("detail"));
  }
  const file = type === "file" ? part.inner("file") : undefined;
  const url = file?.text("file_data");
  if (url !== undefined) return { type: "document", title: file?.text("filename"), url };
  const own = part.text("text");
  if (own === undefined) {
    throw invalid("messages", `A part of type '${type}' cannot be sent to this model's upstream.`);
  }
  return { type: "text", text: own };
}

/** The texts of an instruction, each with its mark. */
function instructionOf(message: RequestFields): MarkedText[] {
  message.text("role");
  return markLast(piecesOf(message), markOf(message.object));
}

/** The parts of a message that can hold nothing but texts and refusals. */
function piecesOf(message: RequestFields): (MarkedText & { readonly refusal: string })[] {
  return message.textOrList("content").map((part) => {
    const { type } = part;
    const said = part.text("text");
    if (said === undefined && type !== "refusal") part.drop(`messages.${type}`);
    return { text: said ?? "", refusal: part.text("refusal") ?? "", ...markOf(part.object) };
  });
}

function toolOf(tool: RequestFields): Tool {
  const { type } = tool;
  const custom = tool.inner("custom");
  const own = tool.inner("function");
  if (custom !== undefined) {
    const format = custom.get("format");
    const grammar = isObject(format) && isObject(format.grammar) ? format.grammar : undefined;
    return functionFor({
      name: custom.text("name") ?? "",
      description: custom.text("description"),
      grammar,
    });
  }
  if (own === undefined) {
    throw invalid(
      "tools",
      `A tool of type '${type}' cannot be offered by this model's upstream.`,
    );
  }
  return {
    name: own.text("name") ?? "",
    description: own.text("description"),
    schema: inputSchema(own.get("parameters")),
    strict: own.boolean("strict"),
    ...markOf(tool.object, own.object),
  };
}

/** A choice among some of the tools only. */
function allowedTools(choice: JsonValue | undefined): JsonObject | undefined {
  if (!isObject(choice) || choice.type !== "allowed_tools") return undefined;
  return isObject(choice.allowed_tools) ? choice.allowed_tools : choice;
}

/** The name of a tool, or of one that is chosen. */
function nameOf({ function: own, custom }: JsonObject): JsonValue | undefined {
  return isObject(own) ? own.name : isObject(custom) ? custom.name : undefined;
}

function modeOf({ mode }: JsonObject): "auto" | "required" {
  return mode === "required" ? "required" : "auto";
}

/** As `applyReasoning` has left it. */
function reasoningOf(body: RequestFields): ReasoningRequest {
  const thinking = body.inner("thinking", "thinking");
  const budgetTokens = thinking?.number("budget_tokens");
  const effort = body.get("reasoning_effort");
  return {
    ...(thinking === undefined ? {} : { enabled: thinking.type === "enabled" }),
    ...(budgetTokens === undefined ? {} : { budgetTokens }),
    ...(isEffort(effort) ? { effort } : {}),
  };
}

function choiceOf(choice: JsonValue | undefined): Conversation["toolChoice"] {
  if (choice === "auto" || choice === "none" || choice === "required") return choice;
  const name = isObject(choice) ? text(nameOf(choice)) : undefined;
  return name === undefined ? undefined : { name };
}
