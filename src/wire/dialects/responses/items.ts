import { isObject, items, type JsonObject, type JsonValue, objects, text } from "../json.ts";

/** The items of a request's input; a text is one message of the user. */
export function inputItems({ input }: JsonObject): readonly JsonObject[] {
  return typeof input === "string"
    ? [{ type: "message", role: "user", content: input }]
    : objects(input);
}

/** An item's kind. Messages and references may come without one; undefined where nothing shows it. */
export function kindOf({ type, role, id }: JsonObject): string | undefined {
  if (text(type) !== undefined) return text(type);
  if ((role ?? undefined) !== undefined) return "message";
  return text(id) === undefined ? undefined : "item_reference";
}

/** The type of an output item. Some upstreams leave a message's out. */
export function typeOf({ type, role }: JsonObject): string {
  return text(type) ?? (text(role) === undefined ? "" : "message");
}

/** The parts of an output item; some upstreams write a text instead. */
export function partsOf(parts: JsonValue | undefined, type = "output_text"): readonly JsonObject[] {
  return typeof parts === "string" ? [{ type, text: parts }] : objects(parts);
}

/**
 * An output item as it is kept for later requests: without the log probabilities of its tokens, which are many times its text and
 * which no model reads.
 */
export function keptItem(item: JsonObject): JsonObject {
  const { content } = item;
  if (!Array.isArray(content)) return item;
  const partOf = (part: JsonValue) =>
    isObject(part) && items(part.logprobs).length > 0 ? { ...part, logprobs: [] } : part;
  return { ...item, content: content.map(partOf) };
}

/** Probabilities of tokens as clients read them: the AI SDK loses the text of a delta without a list of alternatives. */
export function fullLogprobs(given: JsonValue | undefined): JsonObject[] {
  return objects(given).map((one) => ({ ...one, top_logprobs: [...objects(one.top_logprobs)] }));
}

/** Kinds of items that are results of calls, which are named by `call_id`. */
export const OUTPUT_KINDS: ReadonlySet<string> = new Set([
  "function_call_output",
  "custom_tool_call_output",
  "tool_search_output",
]);

/** Kinds of items that say something about the request, and are no turns of the conversation. */
export const SETTING_KINDS: ReadonlySet<string> = new Set([
  "additional_tools",
  "configuration_update",
  "compaction_trigger",
]);

/** Whether an item is an instruction of the system's or the developer's. */
export function isInstruction({ object: item }: { readonly object: JsonObject }): boolean {
  return kindOf(item) === "message" && (item.role === "system" || item.role === "developer");
}
