import { jsonIn } from "../../ground/platform/mod.ts";
import {
  countedUsage,
  isObject,
  type JsonObject,
  type JsonValue,
  objects,
  text,
  writeResponsesUsage,
} from "../../wire/dialects/mod.ts";
import { inspectDataUrl, type Picture } from "../../wire/pixels/mod.ts";
import type { Directives } from "./directives.ts";
import { ownText } from "./own_text.ts";
import type { SimulatedAsk, SimulatedReply, SimulatedTool } from "./plan.ts";
import { promptIndex } from "./prompt_index.ts";

const CREATED = 1_750_000_000;
/** What stands for the reasoning that an upstream keeps to itself. */
const ENCRYPTED = "simulated-encrypted-reasoning";

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

/** A whole response. */
export function responsesReply(
  ask: SimulatedAsk,
  plan: SimulatedReply,
  directives: Directives,
  seed: string,
  body: JsonObject,
): JsonObject {
  return responseOf(ask, plan, { directives, seed, body });
}

interface Frame {
  readonly directives: Directives;
  readonly seed: string;
  readonly body: JsonObject;
}

/** A response as the data of stream events, in order. */
export function* responsesEvents(
  ask: SimulatedAsk,
  plan: SimulatedReply,
  directives: Directives,
  seed: string,
  body: JsonObject,
): Generator<string> {
  let number = 0;
  const event = (type: string, fields: JsonObject) =>
    JSON.stringify({ type, sequence_number: number++, ...fields });
  const response = responseOf(ask, plan, { directives, seed, body });
  const begun = {
    ...response,
    status: "in_progress",
    incomplete_details: null,
    output: [],
    usage: null,
  };
  yield event("response.created", { response: begun });
  yield event("response.in_progress", { response: begun });
  for (const [at, item] of objects(response.output).entries()) {
    const place = { item_id: item.id!, output_index: at };
    const { encrypted_content: _, ...shown } = item;
    yield event("response.output_item.added", {
      output_index: at,
      item: { ...shown, ...emptied(item) },
    });
    const isSummary = item.type === "reasoning";
    const [part] = objects(isSummary ? item.summary : item.content);
    if (part !== undefined) {
      const pieces = isSummary ? plan.reasoning : plan.text;
      const index = { [isSummary ? "summary_index" : "content_index"]: 0 };
      const name = isSummary ? "response.reasoning_summary_part" : "response.content_part";
      const kind = isSummary ? "response.reasoning_summary_text" : "response.output_text";
      const logprobs = isSummary ? {} : { logprobs: [] };
      yield event(`${name}.added`, { ...place, ...index, part: { ...part, text: "" } });
      for (const delta of pieces) {
        yield event(`${kind}.delta`, { ...place, ...index, delta, ...logprobs });
      }
      yield event(`${kind}.done`, { ...place, ...index, text: pieces.join(""), ...logprobs });
      yield event(`${name}.done`, { ...place, ...index, part });
    }
    for (const [field, kind] of CALL_FIELDS) {
      const whole = text(item[field]);
      if (whole === undefined) continue;
      for (const delta of whole.match(/[\s\S]{1,12}/gu) ?? []) {
        yield event(`${kind}.delta`, { ...place, delta });
      }
      const name = field === "arguments" ? { name: item.name! } : {};
      yield event(`${kind}.done`, { ...place, ...name, [field]: whole });
    }
    yield event("response.output_item.done", { output_index: at, item });
  }
  yield event(`response.${text(response.status)}`, { response });
}

const CALL_FIELDS = [
  ["arguments", "response.function_call_arguments"],
  ["input", "response.custom_tool_call_input"],
] as const;

function emptied(item: JsonObject): JsonObject {
  const empty: JsonObject = {};
  for (const key of ["content", "summary"]) if (item[key] !== undefined) empty[key] = [];
  for (const key of ["arguments", "input"]) if (item[key] !== undefined) empty[key] = "";
  return "status" in item ? { ...empty, status: "in_progress" } : empty;
}

/** An error in the responses dialect: as the body of a reply, and as an event. */
export function responsesError(status: number): JsonObject {
  const message = status === 400
    ? "Simulated refusal of the request (status 400)"
    : `Simulated failure with status ${status}`;
  const code = `simulated_${status}`;
  return { type: "error", error: { message, type: "simulated_error", code, param: null } };
}

function responseOf(
  ask: SimulatedAsk,
  plan: SimulatedReply,
  { directives, seed, body }: Frame,
): JsonObject {
  const isCut = plan.finish === "length";
  return {
    id: `resp_sim${seed}`,
    object: "response",
    created_at: CREATED,
    status: isCut ? "incomplete" : "completed",
    error: null,
    incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
    instructions: body.instructions ?? null,
    model: ask.model,
    output: outputOf(plan, seed, body),
    parallel_tool_calls: ask.parallelTools,
    previous_response_id: null,
    store: body.store !== false,
    tool_choice: body.tool_choice ?? "auto",
    tools: body.tools ?? [],
    usage: usageOf(plan, directives),
  };
}

function outputOf(plan: SimulatedReply, seed: string, body: JsonObject): JsonObject[] {
  const includes = Array.isArray(body.include) &&
    body.include.includes("reasoning.encrypted_content");
  const custom = new Set(customNames(body));
  const own = `sim${seed.slice(0, 12)}`;
  return [
    ...(plan.reasoning.length === 0 ? [] : [{
      id: `rs_${own}`,
      type: "reasoning",
      summary: [{ type: "summary_text", text: plan.reasoning.join("") }],
      ...(includes ? { encrypted_content: ENCRYPTED } : {}),
    }]),
    ...(plan.text.length === 0 && plan.calls.length > 0 ? [] : [{
      id: `msg_${own}`,
      type: "message",
      status: plan.finish === "length" ? "incomplete" : "completed",
      role: "assistant",
      content: [{ type: "output_text", text: plan.text.join(""), annotations: [] }],
    }]),
    ...plan.calls.map(({ name, args }, at) => {
      const call = { status: "completed", call_id: `call_${seed.slice(0, 12)}_${at}`, name };
      return custom.has(name)
        ? { id: `ctc_${own}_${at}`, type: "custom_tool_call", ...call, input: freeText(args) }
        : { id: `fc_${own}_${at}`, type: "function_call", ...call, arguments: args };
    }),
  ];
}

/** The input of a free-form tool; a directive may write it as it is. */
function freeText(args: string): string {
  const value = jsonIn(args);
  return isObject(value) && typeof value.input === "string" ? value.input : args;
}

function customNames(body: JsonObject): string[] {
  const added = objects(body.input).flatMap(({ type, tools }) =>
    type === "additional_tools" ? objects(tools) : []
  );
  return [...objects(body.tools), ...added]
    .flatMap((tool) => tool.type === "namespace" ? objects(tool.tools) : [tool])
    .filter(({ type }) => type === "custom").map(({ name }) => text(name) ?? "");
}

/** The tools that can be called; those of a namespace by their own names. Hosted ones run nowhere here. */
function toolsOf(tool: JsonObject): SimulatedTool[] {
  if (tool.type === "namespace") return objects(tool.tools).flatMap(toolsOf);
  const name = text(tool.name) ?? (tool.type === "tool_search" ? "tool_search" : undefined);
  if (name === undefined) return [];
  return [{
    name,
    description: text(tool.description) ?? "",
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

function usageOf(plan: SimulatedReply, { usage }: Directives): JsonObject | null {
  if (usage === "none") return null;
  const zero = usage === "zero";
  return writeResponsesUsage({
    ...countedUsage(zero ? 0 : plan.inputTokens, zero ? 0 : plan.outputTokens),
    reasoningTokens: zero ? 0 : plan.reasoning.length,
  });
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
