import {
  isObject,
  type JsonObject,
  type JsonValue,
  objects,
  text,
} from "../../wire/dialects/mod.ts";
import { inspectDataUrl, type Picture } from "../../wire/pixels/mod.ts";
import { chatError } from "./chat.ts";
import { ownText } from "./own_text.ts";
import type { SimulatedAsk, SimulatedTool } from "./plan.ts";
import { promptIndex } from "./prompt_index.ts";

/** A tool takes free text as the one argument of this schema. */
const FREE_TEXT: JsonObject = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
};

/** Reads a responses body the way a lenient upstream does. */
export function readResponsesAsk(body: JsonObject): SimulatedAsk {
  const items = typeof body.input === "string"
    ? [{ type: "message", role: "user", content: body.input }]
    : objects(body.input);
  const lastUser = promptIndex(items.map((item) => ({
    isUser: isMessage(item) && item.role === "user",
    hasResults: isResult(item),
    isEmpty: () => ownText(textsOf(item.content)).trim() === "" && imagesOf(item).length === 0,
  })));
  const since = items.slice(lastUser + 1);
  const user = items[lastUser];
  const model = text(body.model) ?? "";
  const format = isObject(body.text) && isObject(body.text.format) ? body.text.format : {};
  const added = items.filter(({ type }) => type === "additional_tools").flatMap(({ tools }) =>
    objects(tools)
  );
  const reasoning = isObject(body.reasoning) ? body.reasoning : {};
  return {
    model,
    stream: body.stream === true,
    maxOutput: typeof body.max_output_tokens === "number" && body.max_output_tokens > 0
      ? body.max_output_tokens
      : 1_024,
    choices: 1,
    input: [
      text(body.instructions) ?? "",
      ...items.map(inputTextOf),
      Array.isArray(body.tools) ? JSON.stringify(body.tools) : "",
    ].join("\n"),
    prompt: user === undefined ? "" : ownText(textsOf(user.content)),
    message: textsOf(user?.content).join("\n"),
    toolResults: since.filter(isResult).map(({ output }) => textsOf(output).join("\n")),
    step: roundsOf(since),
    images: user === undefined ? [] : imagesOf(user),
    tools: [...objects(body.tools), ...added].flatMap(toolsOf),
    toolChoice: choiceOf(body.tool_choice),
    parallelTools: body.parallel_tool_calls !== false,
    reasons: (reasoning.effort ?? undefined) === undefined
      ? (reasoning.summary ?? undefined) !== undefined || /k2\.7|k3/.test(model)
      : reasoning.effort !== "none",
    stop: [],
    schema: isObject(format.schema)
      ? format.schema
      : format.type === "json_object"
      ? { type: "object", properties: { answer: { type: "string" } } }
      : undefined,
  };
}

/** An error in the responses dialect: as the body of a reply, and as an event. */
export function responsesError(status: number): JsonObject {
  return { type: "error", ...chatError(status) };
}

/** The tools that can be called; those of a namespace by their own names. Hosted ones run nowhere here. */
function toolsOf(tool: JsonObject): SimulatedTool[] {
  if (tool.type === "namespace") return objects(tool.tools).flatMap(toolsOf);
  const name = text(tool.name) ?? (tool.type === "tool_search" ? "tool_search" : undefined);
  if (name === undefined) return [];
  return [{
    name,
    schema: tool.type === "custom"
      ? FREE_TEXT
      : isObject(tool.parameters)
      ? tool.parameters
      : { type: "object", properties: {} },
  }];
}

function choiceOf(choice: JsonValue | undefined): SimulatedAsk["toolChoice"] {
  if (choice === "none" || choice === "required") return choice;
  if (!isObject(choice)) return "auto";
  if (choice.type === "allowed_tools") return choice.mode === "required" ? "required" : "auto";
  return typeof choice.name === "string" ? { name: choice.name } : "auto";
}

function isMessage({ type, role }: JsonObject): boolean {
  return type === "message" || type === undefined && role !== undefined;
}

function isResult({ type }: JsonObject): boolean {
  return /_call_output$|^tool_search_output$/.test(text(type) ?? "");
}

/** Calls that follow each other are one round. */
function roundsOf(items: readonly JsonObject[]): number {
  const isCall = (item: JsonObject | undefined) => /_call$/.test(text(item?.type) ?? "");
  return items.filter((item, at) => isCall(item) && !isCall(items[at - 1])).length;
}

function inputTextOf(item: JsonObject): string {
  return [
    ...textsOf(item.content),
    ...textsOf(item.summary),
    ...textsOf(item.output),
    ...[item.name, item.arguments, item.input].flatMap((one) => text(one) ?? []),
    ...(Array.isArray(item.tools) ? [JSON.stringify(item.tools)] : []),
  ].join("\n");
}

function textsOf(content: JsonValue | undefined): string[] {
  const whole = text(content);
  return whole !== undefined
    ? [whole]
    : objects(content).flatMap((part) => text(part.text) ?? text(part.refusal) ?? []);
}

function imagesOf({ content }: JsonObject): (Picture | undefined)[] {
  return objects(content).filter(({ type }) => type === "input_image").map(({ image_url: url }) =>
    inspectDataUrl(text(url) ?? "")
  );
}
