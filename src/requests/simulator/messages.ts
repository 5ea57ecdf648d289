import {
  countedUsage,
  isObject,
  items,
  type JsonObject,
  type JsonValue,
  objects,
  text,
  writeMessagesUsage,
} from "../../wire/dialects/mod.ts";
import { inspectDataUrl, type Picture } from "../../wire/pixels/mod.ts";
import type { Directives } from "./directives.ts";
import { ownText } from "./own_text.ts";
import type { SimulatedAsk, SimulatedReply } from "./plan.ts";
import { promptIndex } from "./prompt_index.ts";

const SIGNATURE = "simulated-signature";

/** Reads a messages body the way a lenient upstream does. */
export function readMessagesAsk(body: JsonObject): SimulatedAsk {
  const messages = objects(body.messages);
  const lastUser = promptIndex(messages.map(({ role, content }) => {
    const blocks = blocksOf(content);
    return {
      isUser: role === "user",
      hasResults: blocks.some(({ type }) => type === "tool_result"),
      isEmpty: () =>
        ownText(textsOf(blocks)).trim() === "" &&
        !blocks.some(({ type }) => type === "image"),
    };
  }));
  const since = messages.slice(lastUser + 1);
  const blocks = blocksOf(messages[lastUser]?.content);
  const choice = isObject(body.tool_choice) ? body.tool_choice : {};
  const config = isObject(body.output_config) ? body.output_config : {};
  const format = isObject(config.format) ? config.format : {};
  const model = text(body.model) ?? "";
  const thinking = isObject(body.thinking) ? body.thinking.type : undefined;
  return {
    model,
    stream: body.stream === true,
    maxOutput: typeof body.max_tokens === "number" ? body.max_tokens : 1_024,
    choices: 1,
    input: [
      textOf(body.system),
      ...messages.map(({ content }) => textOf(content)),
      JSON.stringify(body.tools ?? ""),
    ]
      .join("\n"),
    prompt: ownText(textsOf(blocks)),
    message: textsOf(blocks).join("\n"),
    toolResults: since.flatMap(({ content }) =>
      objects(content).filter(({ type }) => type === "tool_result").map((block) =>
        `${block.is_error === true ? "Error: " : ""}${textOf(block.content)}`
      )
    ),
    step:
      since.filter(({ role, content }) =>
        role === "assistant" && objects(content).some(({ type }) => type === "tool_use")
      ).length,
    images: blocks.filter(({ type }) => type === "image").map(imageOf),
    tools: objects(body.tools).map((tool) => ({
      name: text(tool.name) ?? "",
      description: text(tool.description) ?? "",
      schema: isObject(tool.input_schema) ? tool.input_schema : { type: "object", properties: {} },
    })),
    toolChoice: choice.type === "tool"
      ? { name: text(choice.name) ?? "" }
      : choice.type === "any"
      ? "required"
      : choice.type === "none"
      ? "none"
      : "auto",
    parallelTools: choice.disable_parallel_tool_use !== true,
    reasons: thinking === undefined ? /k2\.7|k3/.test(model) : thinking !== "disabled",
    stop: items(body.stop_sequences).filter((one) => typeof one === "string"),
    schema: isObject(format.schema) ? format.schema : undefined,
  };
}

/** A whole message. */
export function messagesReply(
  ask: SimulatedAsk,
  plan: SimulatedReply,
  directives: Directives,
  seed: string,
): JsonObject {
  return {
    ...frame(ask, seed),
    content: [
      ...(plan.reasoning.length === 0
        ? []
        : [{ type: "thinking", thinking: plan.reasoning.join(""), signature: SIGNATURE }]),
      ...(plan.text.length === 0 ? [] : [{ type: "text", text: plan.text.join("") }]),
      ...plan.calls.map((call, at) => ({
        ...toolUse(call.name, seed, at),
        input: JSON.parse(call.args),
      })),
    ],
    ...endOf(plan),
    ...(directives.usage === "none" ? {} : { usage: usageOf(plan, directives) }),
  };
}

/** A message as the data of stream events, in order. */
export function* messagesEvents(
  ask: SimulatedAsk,
  plan: SimulatedReply,
  directives: Directives,
  seed: string,
): Generator<string> {
  const event = (type: string, fields: JsonObject = {}) => JSON.stringify({ type, ...fields });
  const reported = directives.usage !== "none";
  const { output_tokens, output_tokens_details, ...input } = usageOf(plan, directives);
  const usage = reported ? { usage: { ...input, output_tokens: 0 } } : {};
  yield event("message_start", {
    message: { ...frame(ask, seed), content: [], stop_reason: null, stop_sequence: null, ...usage },
  });
  let index = 0;
  const block = function* (start: JsonObject, deltas: readonly JsonObject[]) {
    yield event("content_block_start", { index, content_block: start });
    for (const delta of deltas) yield event("content_block_delta", { index, delta });
    yield event("content_block_stop", { index });
    index++;
  };
  if (plan.reasoning.length > 0) {
    yield* block({ type: "thinking", thinking: "", signature: "" }, [
      ...plan.reasoning.map((piece) => ({ type: "thinking_delta", thinking: piece })),
      { type: "signature_delta", signature: SIGNATURE },
    ]);
  }
  if (plan.text.length > 0) {
    yield* block(
      { type: "text", text: "" },
      plan.text.map((piece) => ({ type: "text_delta", text: piece })),
    );
  }
  for (const [at, call] of plan.calls.entries()) {
    const pieces = call.args.match(/[\s\S]{1,12}/gu) ?? [];
    yield* block(
      { ...toolUse(call.name, seed, at), input: {} },
      pieces.map((piece) => ({ type: "input_json_delta", partial_json: piece })),
    );
  }
  yield event("message_delta", {
    delta: endOf(plan),
    ...(reported
      ? { usage: { output_tokens: output_tokens!, output_tokens_details: output_tokens_details! } }
      : {}),
  });
  yield event("message_stop");
}

/** An error in the messages dialect. */
export function messagesError(status: number): JsonObject {
  const type = status === 429
    ? "rate_limit_error"
    : status < 500
    ? "invalid_request_error"
    : "api_error";
  return { type: "error", error: { type, message: `Simulated failure with status ${status}` } };
}

function frame(ask: SimulatedAsk, seed: string): JsonObject {
  return { id: `msg_sim_${seed}`, type: "message", role: "assistant", model: ask.model };
}

function toolUse(name: string, seed: string, at: number): JsonObject {
  return { type: "tool_use", id: `toolu_${seed.slice(0, 12)}_${at}`, name };
}

function endOf({ finish, stopped }: SimulatedReply): JsonObject {
  const reason = finish === "tools"
    ? "tool_use"
    : finish === "length"
    ? "max_tokens"
    : stopped === undefined
    ? "end_turn"
    : "stop_sequence";
  return { stop_reason: reason, stop_sequence: reason === "stop_sequence" ? stopped! : null };
}

function usageOf(plan: SimulatedReply, { usage }: Directives): JsonObject {
  const zero = usage === "zero";
  return writeMessagesUsage({
    ...countedUsage(zero ? 0 : plan.inputTokens, zero ? 0 : plan.outputTokens),
    reasoningTokens: zero ? 0 : plan.reasoning.length,
  });
}

function blocksOf(content: JsonValue | undefined): JsonObject[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : [...objects(content)];
}

/** The texts of a message's own, without those of tool results. */
function textsOf(blocks: readonly JsonObject[]): string[] {
  return blocks.flatMap((block) => (block.type === "text" ? text(block.text) ?? [] : []));
}

function textOf(content: JsonValue | undefined): string {
  return blocksOf(content).map((block) =>
    text(block.text) ?? text(block.thinking) ??
      (block.type === "tool_result" ? textOf(block.content) : JSON.stringify(block.input ?? ""))
  ).join("\n");
}

function imageOf({ source }: JsonObject): Picture | undefined {
  if (!isObject(source) || source.type !== "base64") return undefined;
  return inspectDataUrl(`data:${text(source.media_type)};base64,${text(source.data)}`);
}
