import { DroppedFields } from "../dropped_fields.ts";
import { entryOf, isObject, type JsonObject, type JsonValue, objects, text } from "../json.ts";
import type { ReasoningRequest } from "../reasoning.ts";
import { sealedText } from "./seals.ts";

/** Fields of a request that the neutral form holds, or that the gateway sets itself. */
const UNDERSTOOD = [
  "model",
  "messages",
  "max_tokens",
  "stream",
  "system",
  "tools",
  "tool_choice",
  "temperature",
  "top_p",
  "top_k",
  "stop_sequences",
  "thinking",
  "output_config",
  "output_format",
];

/** Fields of each kind of block that messages are read from. Signatures are for the upstream that wrote them. */
const BLOCKS: Readonly<Record<string, readonly string[]>> = {
  text: ["text"],
  image: ["source"],
  document: ["source", "title", "context"],
  search_result: ["title", "source", "content"],
  thinking: ["thinking", "signature"],
  compaction: ["content"],
  tool_use: ["id", "name", "input"],
  tool_result: ["tool_use_id", "content", "is_error"],
  tool_reference: ["tool_name"],
};

/** Kinds of blocks that are read from the messages of each role, and from results of tools. */
const PARTS = ["text", "image", "document", "search_result", "tool_reference"];
const ROLES: Readonly<Record<string, readonly string[]>> = {
  user: [...PARTS, "tool_result"],
  assistant: ["text", "thinking", "compaction", "tool_use"],
  system: ["text"],
};

/** Fields of each kind of source. */
const SOURCES: Readonly<Record<string, readonly string[]>> = {
  base64: ["media_type", "data"],
  url: ["url"],
  text: ["media_type", "data"],
  content: ["content"],
};

/** Names what the neutral form of a messages request leaves out. */
export function droppedFields(body: JsonObject, reasoning: ReasoningRequest): string[] {
  const dropped = new DroppedFields();
  addReasoning(dropped, body, reasoning);
  dropped.addOthers(body, "", UNDERSTOOD);
  for (const block of objects(body.system)) dropped.addOthers(block, "system", ["type", "text"]);
  for (const tool of objects(body.tools)) {
    dropped.addOthers(tool, "tools", ["type", "name", "description", "input_schema", "strict"]);
  }
  if (isObject(body.tool_choice) && objects(body.tools).length === 0) dropped.add("tool_choice");
  else if (isObject(body.tool_choice)) {
    dropped.addOthers(body.tool_choice, "tool_choice", [
      "type",
      "name",
      "disable_parallel_tool_use",
    ]);
  }
  if (isObject(body.output_format)) {
    dropped.addOthers(body.output_format, "output_format", ["type", "schema"]);
  }
  for (const message of objects(body.messages)) {
    dropped.addOthers(message, "messages", ["role", "content"]);
    addBlocks(dropped, message.content, entryOf(ROLES, text(message.role) ?? "") ?? PARTS);
  }
  return dropped.names;
}

/** The kinds of blocks, those in tool results included, that cannot be translated. */
export function unknownBlocks(messages: JsonValue | undefined): string[] {
  return objects(messages).flatMap(({ content }) => objects(content)).flatMap((block) => [
    ...(kindOf(block) === undefined ? [text(block.type) ?? ""] : []),
    ...(block.type === "tool_result" ? unknownBlocks([block]) : []),
  ]);
}

function kindOf({ type }: JsonObject): readonly string[] | undefined {
  return typeof type === "string" && Object.hasOwn(BLOCKS, type) ? BLOCKS[type] : undefined;
}

function addBlocks(
  dropped: DroppedFields,
  content: JsonValue | undefined,
  kinds: readonly string[],
): void {
  for (const block of objects(content)) {
    const type = text(block.type) ?? "";
    const understood = kindOf(block);
    if (type === "redacted_thinking" && sealedText(block) !== undefined) continue; // the gateway's own
    if (understood === undefined || !kinds.includes(type)) {
      dropped.add(`messages.${type}`);
      continue;
    }
    dropped.addOthers(block, type, ["type", ...understood]);
    addBlocks(dropped, block.content, PARTS);
    if (!isObject(block.source)) continue;
    const own = entryOf(SOURCES, text(block.source.type) ?? "") ?? [];
    dropped.addOthers(block.source, type, ["type", ...own]);
    addBlocks(dropped, block.source.content, PARTS);
  }
}

/** Fields about reasoning and output that neither the route nor other dialects know. */
function addReasoning(
  dropped: DroppedFields,
  { output_config: config, thinking }: JsonObject,
  { effort, isBudget = false }: ReasoningRequest,
): void {
  if (isObject(config)) {
    dropped.addOthers(
      config,
      "output_config",
      effort === undefined ? ["format"] : ["format", "effort"],
    );
    if (isObject(config.format)) {
      dropped.addOthers(config.format, "output_config.format", ["type", "schema"]);
    }
  }
  if (isObject(thinking)) {
    dropped.addOthers(thinking, "thinking", isBudget ? ["type", "budget_tokens"] : ["type"]);
  }
}
