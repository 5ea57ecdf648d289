import {
  countedUsage,
  isObject,
  type JsonObject,
  type JsonValue,
  objects,
  text,
  writeChatUsage,
} from "../../wire/dialects/mod.ts";
import { inspectDataUrl, type Picture } from "../../wire/pixels/mod.ts";
import type { Directives } from "./directives.ts";
import { ownText } from "./own_text.ts";
import type { SimulatedAsk, SimulatedReply } from "./plan.ts";
import { promptIndex } from "./prompt_index.ts";

const CREATED = 1_750_000_000;

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
          description: text(tool.description) ?? "",
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

/** A whole reply. */
export function chatReply(
  ask: SimulatedAsk,
  plan: SimulatedReply,
  directives: Directives,
  seed: string,
): JsonObject {
  const message: JsonObject = {
    role: "assistant",
    content: plan.text.length > 0 || plan.calls.length === 0 ? plan.text.join("") : null,
    refusal: null,
    ...(plan.reasoning.length > 0 ? { reasoning_content: plan.reasoning.join("") } : {}),
    ...(plan.calls.length > 0
      ? { tool_calls: plan.calls.map((call, index) => toolCall(call, seed, index)) }
      : {}),
  };
  const finish = finishOf(plan);
  return {
    ...frame(ask, seed, "chat.completion"),
    choices: Array.from({ length: ask.choices }, (_, index): JsonValue => ({
      index,
      message,
      logprobs: null,
      finish_reason: finish,
      ...(plan.stopped === undefined ? {} : { stop_reason: plan.stopped }),
    })),
    ...usageOf(ask, plan, directives),
  };
}

/** A reply as the data of stream events, in order; the last is `[DONE]`. */
export function* chatEvents(
  ask: SimulatedAsk,
  plan: SimulatedReply,
  directives: Directives,
  { seed, wantsUsage }: { seed: string; wantsUsage: boolean },
): Generator<string> {
  const head = frame(ask, seed, "chat.completion.chunk");
  const chunk = (index: number, delta: JsonObject, finish: string | null = null) =>
    JSON.stringify({
      ...head,
      choices: [{
        index,
        delta,
        logprobs: null,
        finish_reason: finish,
        ...(finish === null || plan.stopped === undefined ? {} : { stop_reason: plan.stopped }),
      }],
      ...(wantsUsage ? { usage: null } : {}),
    });
  for (let index = 0; index < ask.choices; index++) {
    yield chunk(index, { role: "assistant", content: "" });
    for (const piece of plan.reasoning) yield chunk(index, { reasoning_content: piece });
    for (const piece of plan.text) yield chunk(index, { content: piece });
    for (const [at, call] of plan.calls.entries()) {
      const { id, type, function: whole } = toolCall(call, seed, at) as {
        [key: string]: JsonObject;
      };
      const opening = { name: whole!.name, arguments: "" };
      yield chunk(index, { tool_calls: [{ index: at, id, type, function: opening }] });
      for (const piece of call.args.match(/[\s\S]{1,12}/gu) ?? []) {
        yield chunk(index, { tool_calls: [{ index: at, function: { arguments: piece } }] });
      }
    }
    yield chunk(index, {}, finishOf(plan));
  }
  const usage = usageOf(ask, plan, directives);
  if (wantsUsage && usage.usage !== undefined) {
    yield JSON.stringify({ ...head, choices: [], ...usage });
  }
  yield "[DONE]";
}

/** An error in the chat dialect. */
export function chatError(status: number): JsonObject {
  const message = status === 400
    ? "Simulated refusal of the request (status 400)"
    : `Simulated failure with status ${status}`;
  return { error: { message, type: "simulated_error", code: `simulated_${status}`, param: null } };
}

function frame(ask: SimulatedAsk, seed: string, object: string): JsonObject {
  return { id: `chatcmpl-sim-${seed}`, object, created: CREATED, model: ask.model };
}

function finishOf({ finish }: SimulatedReply): string {
  return finish === "tools" ? "tool_calls" : finish;
}

function toolCall(call: { name: string; args: string }, seed: string, index: number): JsonObject {
  return {
    id: `call_${seed.slice(0, 12)}_${index}`,
    type: "function",
    function: { name: call.name, arguments: call.args },
  };
}

function usageOf(
  ask: SimulatedAsk,
  plan: SimulatedReply,
  { usage }: Directives,
): { usage?: JsonObject } {
  if (usage === "none") return {};
  const zero = usage === "zero";
  return {
    usage: writeChatUsage({
      ...countedUsage(
        zero ? 0 : plan.inputTokens,
        zero ? 0 : plan.outputTokens * ask.choices,
      ),
      reasoningTokens: zero ? 0 : plan.reasoning.length * ask.choices,
    }),
  };
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
