import type { JsonObject } from "../json.ts";

/** What events of one kind, ending in `.delta` and `.done`, are about. */
export interface TextEvents {
  /** Type of the item. */
  readonly type: string;
  /** The list of the item that the text is in a part of; undefined where it is the item's own. */
  readonly list: "content" | "summary" | undefined;
  /** The field that holds the text, in the part or the item, and in the event that repeats it. */
  readonly field: "text" | "refusal" | "arguments" | "input" | "code";
  /** Type of the part. */
  readonly part: string;
}

const KINDS: Readonly<Record<string, TextEvents>> = {
  "response.output_text": {
    type: "message",
    list: "content",
    field: "text",
    part: "output_text",
  },
  "response.refusal": { type: "message", list: "content", field: "refusal", part: "refusal" },
  "response.reasoning_text": {
    type: "reasoning",
    list: "content",
    field: "text",
    part: "reasoning_text",
  },
  "response.reasoning_summary_text": {
    type: "reasoning",
    list: "summary",
    field: "text",
    part: "summary_text",
  },
  "response.function_call_arguments": own("function_call", "arguments"),
  "response.custom_tool_call_input": own("custom_tool_call", "input"),
  "response.mcp_call_arguments": own("mcp_call", "arguments"),
  "response.code_interpreter_call_code": own("code_interpreter_call", "code"),
};

function own(type: string, field: TextEvents["field"]): TextEvents {
  return { type, list: undefined, field, part: "" };
}

/** What an event is about that brings a text or repeats it; undefined for other events. */
export function textEventsOf(type: string): TextEvents | undefined {
  const kind = type.replace(/\.(delta|done)$/, "");
  return kind !== type && Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
}

/** The kind of events that bring the text of a part or an item. */
export function kindOfText(
  { type, list, field }: Pick<TextEvents, "type" | "list" | "field">,
): string | undefined {
  return Object.keys(KINDS).find((kind) => {
    const one = KINDS[kind]!;
    return one.type === type && one.list === list && one.field === field;
  });
}

/** The place of a text in its list, as an event names it. */
export function partIndexOf(event: JsonObject, list: "content" | "summary"): number {
  const index = list === "summary" ? event.summary_index : event.content_index;
  return typeof index === "number" ? index : 0;
}

/** The type of the item that an event is about, by its own type. */
export function itemTypeOf(type: string): string {
  const texts = textEventsOf(type);
  if (texts !== undefined) return texts.type;
  if (type.startsWith("response.reasoning_summary_part.")) return "reasoning";
  if (type.startsWith("response.output_text.")) return "message";
  const [, item = ""] =
    /^response\.((?:[a-z_]+?_call|mcp_list_tools)(?:_output)?)(?:_[a-z_]+)?\./.exec(type) ?? [];
  return item;
}
