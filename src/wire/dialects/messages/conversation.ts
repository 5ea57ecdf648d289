import { invalid } from "../../../ground/refusal.ts";
import { cacheKeyOf } from "../cache_key.ts";
import type { ParsedRequest } from "../dialect.ts";
import { isObject, items, type JsonObject, type JsonValue, objects, text } from "../json.ts";
import { joinInstructions, lastMark, markLast, markOf } from "../neutral/cache_marks.ts";
import type { Conversation, Part, Tool, ToolCall, Turn } from "../neutral/conversation.ts";
import { droppedFields, unknownBlocks } from "./dropped.ts";
import { imageUrl } from "./parse.ts";
import { sealedIn } from "./seals.ts";
import { type OutputFormat, readFormat } from "../neutral/output_format.ts";

/**
 * A messages request in neutral form.
 *
 * @throws {Refusal} `request_invalid` for what must not be dropped silently: `safeguards`, server tools, file ids.
 */
export function toConversation(request: ParsedRequest): Conversation {
  const { body, session, opened, reasoning = {} } = request;
  if ((body.safeguards ?? undefined) !== undefined) {
    // The client repeats the request without it and then checks by itself; nothing must pass unchecked.
    throw invalid(
      "safeguards",
      "safeguards is not supported by this model's upstream. Repeat the request without it.",
    );
  }
  const choice = isObject(body.tool_choice) ? body.tool_choice : {};
  const turns = objects(body.messages).flatMap((message) => turnsOf(message, opened));
  if (turns.length === 0) {
    throw invalid(
      "messages",
      `messages hold no content that this model's upstream supports: ${
        unknownBlocks(body.messages).join(", ")
      }.`,
    );
  }
  return {
    ...instructionsOf(body.system),
    ...markOf(body),
    turns,
    tools: objects(body.tools).filter(({ name }) => name !== "DeferredToolPlaceholder").map(toolOf),
    toolChoice: choiceOf(choice),
    parallelTools: choice.disable_parallel_tool_use === true ? false : undefined,
    temperature: numberOf(body.temperature),
    topP: numberOf(body.top_p),
    topK: numberOf(body.top_k),
    cacheKey: session === undefined ? undefined : cacheKeyOf(session),
    user: undefined, // `metadata.user_id` may hold private data
    stop: items(body.stop_sequences).filter((one) => typeof one === "string"),
    format: formatOf(body),
    reasoning,
    dropped: droppedFields(body, reasoning),
  };
}

/** One text, without the billing line of a coding tool: it differs in each request and would invalidate prompt caches. */
function instructionsOf(system: JsonValue | undefined) {
  const blocks = typeof system === "string" ? [{ text: system }] : objects(system);
  return joinInstructions(blocks.map((block) => [
    { text: withoutBillingLine(text(block.text) ?? ""), ...markOf(block) },
  ]));
}

function withoutBillingLine(text: string): string {
  return text.replace(/^x-anthropic-billing-header:.*\n*/, "");
}

function turnsOf(message: JsonObject, opened: ParsedRequest["opened"]): Turn[] {
  const blocks = typeof message.content === "string"
    ? [{ type: "text", text: message.content }]
    : objects(message.content);
  if (message.role === "assistant") return assistantTurn(blocks, opened);
  if (message.role === "system") {
    const texts = blocks.map((block) => withoutBillingLine(text(block.text) ?? ""));
    const joined = texts.filter((one) => one !== "").join("\n");
    const { cached } = lastMark(blocks.map((block) => markOf(block)));
    return joined === "" ? [] : [{ role: "system", text: joined, cached }];
  }
  const results = blocks.filter(({ type }) => type === "tool_result").map((block): Turn => ({
    role: "tool",
    callId: text(block.tool_use_id) ?? "",
    parts: typeof block.content === "string"
      ? [{ type: "text", text: block.content }]
      : objects(block.content).flatMap(partOf),
    failed: block.is_error === true,
    ...markOf(block),
  }));
  const parts = blocks.filter(({ type }) => type !== "tool_result").flatMap(partOf);
  return [...results, ...(parts.length === 0 ? [] : [{ role: "user", parts } as const])];
}

/** Returns no turn if none of the blocks can be translated. */
function assistantTurn(
  blocks: readonly JsonObject[],
  opened: ParsedRequest["opened"],
): Turn[] {
  const sealed = sealedIn(blocks, opened);
  const joined = (type: string, field: string, between: string) =>
    blocks.filter((block) => block.type === type).map((block) => text(block[field]) ?? "")
      .join(between);
  const turn = {
    role: "assistant",
    ...(sealed.length === 0 ? {} : { sealed }),
    reasoning: joined("thinking", "thinking", "\n"),
    // the summary of earlier messages, where the upstream compacted the conversation
    text: joined("compaction", "content", "\n\n") + joined("text", "text", ""),
    calls: blocks.filter(({ type }) => type === "tool_use").map((block): ToolCall => ({
      id: text(block.id) ?? "",
      name: text(block.name) ?? "",
      args: JSON.stringify(block.input ?? {}),
    })),
    ...lastMark(blocks.map((block) => markOf(block))),
  } as const;
  const isEmpty = turn.text === "" && turn.reasoning === "" && turn.calls.length === 0;
  return isEmpty && sealed.length === 0 ? [] : [turn];
}

function partOf(block: JsonObject): Part[] {
  return markLast(plainPartOf(block), markOf(block));
}

function plainPartOf(block: JsonObject): Part[] {
  const source = isObject(block.source) ? block.source : {};
  switch (block.type) {
    case "text":
      return [{ type: "text", text: text(block.text) ?? "" }];
    case "image":
      return [{ type: "image", url: imageUrl(source) ?? "" }];
    case "document":
      return documentOf(block, source);
    case "search_result":
      return [...linesOf(block.title, block.source), ...objects(block.content).flatMap(partOf)];
    case "tool_reference":
      return [{ type: "text", text: `Tool ${text(block.tool_name) ?? ""} is now available.` }];
    default:
      return [];
  }
}

function documentOf(block: JsonObject, source: JsonObject): Part[] {
  const head = linesOf(block.title, block.context);
  if (source.type === "text") return [...head, { type: "text", text: text(source.data) ?? "" }];
  if (source.type === "content") {
    return typeof source.content === "string"
      ? [...head, { type: "text", text: source.content }]
      : [...head, ...objects(source.content).flatMap(partOf)];
  }
  if (source.type === "url") { // a title stands only beside what is sent with it
    return [...head, { type: "document", title: undefined, url: text(source.url) ?? "" }];
  }
  if (source.type !== "base64") {
    throw invalid(
      "messages",
      "A document's source must be of type base64, text, content or url for this model's upstream.",
    );
  }
  return [
    ...linesOf(block.context),
    { type: "document", title: text(block.title), url: imageUrl(source)! },
  ];
}

/** Texts that describe a document, one per line; nothing when there are none. */
function linesOf(...texts: readonly (JsonValue | undefined)[]): Part[] {
  const lines = texts.filter((one) => typeof one === "string" && one !== "");
  return lines.length === 0 ? [] : [{ type: "text", text: lines.join("\n") }];
}

function toolOf(tool: JsonObject): Tool {
  const type = text(tool.type);
  if (type !== undefined && type !== "custom") {
    throw invalid(
      "tools",
      `The tool '${
        text(tool.name) ?? type
      }' (${type}) runs on the server, which is not supported by this model's upstream.`,
    );
  }
  return {
    name: text(tool.name) ?? "",
    description: text(tool.description),
    schema: isObject(tool.input_schema) ? tool.input_schema : { type: "object", properties: {} },
    strict: typeof tool.strict === "boolean" ? tool.strict : undefined,
    ...markOf(tool),
  };
}

function choiceOf(choice: JsonObject): Conversation["toolChoice"] {
  switch (choice.type) {
    case "auto":
    case "none":
      return choice.type;
    case "any":
      return "required";
    case "tool":
      return { name: text(choice.name) ?? "" };
    default:
      return undefined;
  }
}

/** `output_config.format`, or under its old name `output_format`. */
function formatOf(body: JsonObject): OutputFormat | undefined {
  const config = isObject(body.output_config) ? body.output_config : {};
  for (const format of [config.format, body.output_format]) {
    // the dialect's schemas have no name, and are always satisfied
    if (isObject(format) && isObject(format.schema)) {
      return readFormat("json_schema", { schema: format.schema, strict: true });
    }
  }
  return undefined;
}

function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}
