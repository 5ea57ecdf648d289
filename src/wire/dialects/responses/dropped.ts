import type { ParsedRequest } from "../dialect.ts";
import { DroppedFields } from "../dropped_fields.ts";
import { isObject, items, type JsonObject, type JsonValue, objects, text } from "../json.ts";
import type { Conversation } from "../neutral/conversation.ts";
import { isCompaction } from "./compaction.ts";
import { inputItems, isInstruction, kindOf } from "./items.ts";
import { toolLists } from "./tools.ts";

/** Fields of a request that the neutral form holds, that the reply repeats, or that the gateway sets itself. */
const UNDERSTOOD = [
  "model",
  "input",
  "instructions",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "reasoning",
  "text",
  "max_output_tokens",
  "max_tool_calls",
  "temperature",
  "top_p",
  "stream",
  "stream_options",
  "include",
  "store",
  "background",
  "truncation",
  "metadata",
  "prompt_cache_key",
  "top_logprobs",
  "service_tier",
];

/** Fields of each kind of item besides those that say nothing to a model. */
const ITEMS: Readonly<Record<string, readonly string[]>> = {
  message: ["role", "content", "phase"],
  function_call: ["call_id", "name", "namespace", "arguments"],
  function_call_output: ["call_id", "name", "namespace", "output"],
  custom_tool_call: ["call_id", "name", "namespace", "input"],
  custom_tool_call_output: ["call_id", "name", "output"],
  tool_search_call: ["call_id", "arguments", "execution"],
  tool_search_output: ["call_id", "tools", "execution"],
  reasoning: ["summary", "content", "encrypted_content"],
  compaction: ["encrypted_content"],
  additional_tools: ["role", "tools"],
  configuration_update: ["reasoning", "text"],
};
const OF_ANY_ITEM = ["type", "id", "status", "created_by"];

/** Fields of each kind of content part. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  input_image: ["image_url", "detail"],
  input_file: ["file_data", "file_url", "filename"],
  refusal: ["refusal"],
};

/** Fields of each kind of tool. */
const TOOLS: Readonly<Record<string, readonly string[]>> = {
  function: ["name", "description", "parameters", "strict"],
  custom: ["name", "description", "format"],
  namespace: ["name", "description", "tools"],
  tool_search: ["description", "parameters", "execution"],
};

/** What replies include where a request wants it. */
const INCLUDED = ["reasoning.encrypted_content", "message.output_text.logprobs"];

/** Fields that hold an end user's id. */
const USER_FIELDS = ["safety_identifier", "user"];
/** Ids of end users are this long at most in other dialects. */
const MAX_USER_CHARS = 256;

/** Ids of the end user, as far as other dialects accept them. */
export function userIds(body: JsonObject): Pick<Conversation, "user" | "safetyId"> {
  return { user: userId(body.user), safetyId: userId(body.safety_identifier) };
}

function userId(value: JsonValue | undefined): string | undefined {
  const id = text(value) ?? "";
  return id === "" || id.length > MAX_USER_CHARS ? undefined : id;
}

/**
 * Names what the neutral form of a responses request leaves out.
 *
 * @param hosted Kinds of tools that run on the server.
 */
export function droppedFields(request: ParsedRequest, hosted: readonly string[]): string[] {
  const { body } = request;
  const dropped = new DroppedFields();
  const users = USER_FIELDS.filter((field) => userId(body[field]) !== undefined);
  dropped.addOthers(body, "", [...UNDERSTOOD, ...users]);
  addSettings(dropped, body);
  if (!isCompaction(request)) { // a summary is written without tools
    for (const type of hosted) dropped.add(type === "" ? "tools" : `tools.${type}`);
    for (const list of toolLists(body)) addTools(dropped, list);
    const hasTools = toolLists(body).some((list) => items(list).length > 0);
    if (body.tool_choice === "required" && !hasTools) dropped.add("tool_choice");
  }
  const all = inputItems(body);
  all.forEach((item, at) => {
    const isEnd = at === all.length - 1 && kindOf(item) === "compaction_trigger";
    if (!isEnd) addItem(dropped, item, request.opened);
  });
  return dropped.names;
}

function addSettings(dropped: DroppedFields, body: JsonObject): void {
  const { reasoning, stream_options: options } = body;
  if (isObject(reasoning)) dropped.addOthers(reasoning, "reasoning", ["effort", "summary"]);
  addText(dropped, body);
  if (isObject(options)) dropped.addOthers(options, "stream_options", ["include_obfuscation"]);
  // nothing of a conversation is ever left out
  if ((body.truncation ?? "disabled") !== "disabled") dropped.add("truncation");
  for (const one of items(body.include)) {
    if (!INCLUDED.includes(text(one) ?? "")) dropped.add(`include.${text(one) ?? ""}`);
  }
}

function addText(dropped: DroppedFields, { text: settings }: JsonObject): void {
  if (!isObject(settings)) return;
  const isText = text(settings.verbosity) !== undefined;
  dropped.addOthers(settings, "text", isText ? ["format", "verbosity"] : ["format"]);
  if (!isObject(settings.format)) return;
  dropped.addOthers(settings.format, "text.format", [
    "type",
    "name",
    "schema",
    "strict",
    "description",
  ]);
}

function addTools(dropped: DroppedFields, list: unknown): void {
  for (const tool of objects(list)) {
    const type = text(tool.type) ?? "";
    if (!Object.hasOwn(TOOLS, type)) continue; // it runs on the server
    dropped.addOthers(tool, "tools", ["type", ...TOOLS[type]!]);
    if (type === "namespace") addTools(dropped, tool.tools);
  }
}

function addItem(
  dropped: DroppedFields,
  item: JsonObject,
  opened: ParsedRequest["opened"],
): void {
  const kind = kindOf(item) ?? "";
  const understood = Object.hasOwn(ITEMS, kind) ? ITEMS[kind] : undefined;
  const isServers = kind.startsWith("tool_search_") && !text(item.call_id);
  if (understood === undefined || isServers) return dropped.add(`input.${kind}`);
  dropped.addOthers(item, `input.${kind}`, [...OF_ANY_ITEM, ...understood]);
  const sealed = text(item.encrypted_content);
  if (sealed && !opened?.has(sealed)) {
    dropped.add(kind === "compaction" ? "input.compaction" : `input.${kind}.encrypted_content`);
  }
  const { reasoning, content, summary, output } = item;
  const hasBoth = objects(content).length > 0 && objects(summary).length > 0;
  if (kind === "reasoning" && hasBoth && !opened?.has(sealed ?? "")) {
    dropped.add("input.reasoning.summary"); // the text itself is there
  }
  if (kind === "configuration_update") {
    if (isObject(reasoning)) dropped.addOthers(reasoning, `input.${kind}.reasoning`, ["effort"]);
    addText(dropped, item);
  }
  const hasOnlyText = isInstruction(item) || item.role === "assistant";
  for (const part of objects(content)) addPart(dropped, part, hasOnlyText);
  for (const part of objects(output)) addPart(dropped, part, false);
}

function addPart(dropped: DroppedFields, part: JsonObject, hasOnlyText: boolean): void {
  const type = text(part.type) ?? "";
  const hasText = text(part.text) !== undefined || text(part.refusal) !== undefined;
  if (hasOnlyText && !hasText) return dropped.add(`input.${type}`);
  const understood = Object.hasOwn(PARTS, type) ? PARTS[type]! : ["text"];
  // the same as none
  const plain = part.detail === "auto" ? ["detail"] : [];
  dropped.addOthers(part, type, ["type", ...understood, ...plain]);
}
