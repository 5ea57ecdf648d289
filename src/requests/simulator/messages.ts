import {
  isObject,
  items,
  type JsonObject,
  type JsonValue,
  objects,
  text,
} from "../../wire/dialects/mod.ts";
import { inspectDataUrl, type Picture } from "../../wire/pixels/mod.ts";
import { ownText } from "./own_text.ts";
import type { SimulatedAsk } from "./plan.ts";
import { promptIndex } from "./prompt_index.ts";

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

/** An error in the messages dialect. */
export function messagesError(status: number): JsonObject {
  const type = status === 429
    ? "rate_limit_error"
    : status < 500
    ? "invalid_request_error"
    : "api_error";
  return { type: "error", error: { type, message: `Simulated failure with status ${status}` } };
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
