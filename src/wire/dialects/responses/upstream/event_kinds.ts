/** What an upstream's events are about, by their types. */

/** A text of an output item: events ending in `.delta` bring it in pieces, those in `.done` repeat it. */
export interface TextKind {
  /** What the types of its events begin with. */
  readonly events: string;
  /** Type of the item. */
  readonly type: string;
  /** The list of the item that the text is in a part of; undefined where it is the item's own. */
  readonly list: "content" | "summary" | undefined;
  /** The field that holds the text, in the part or the item, and in the event that repeats it. */
  readonly field: "text" | "refusal" | "arguments" | "input" | "code";
  /** Type of the part. */
  readonly part: string;
}

/** What an event is about. */
export type EventKind =
  & {
    /** Whether it goes on to the client: the OpenAI SDK throws on what it does not know. What does not is not charged. */
    readonly isCarried: boolean;
    /** Whether it is about a tool that runs at the upstream. */
    readonly isHosted: boolean;
    /** Whether it ends what it is about. */
    readonly isDone: boolean;
  }
  & (
    /** The response, and nothing else. */
    | { readonly step: "beginning" | "end" }
    | { readonly step: "item" }
    | { readonly step: "part"; readonly list: "content" | "summary" }
    | { readonly step: "text"; readonly text: TextKind }
    /** An item of this type, but not its text: progress, annotations. */
    | { readonly step: "other"; readonly type: string }
  );

const own = (type: string, field: TextKind["field"]): TextKind => (
  { events: `response.${type}_${field}`, type, list: undefined, field, part: "" }
);
const inPart = (part: string, type: string, more: Partial<TextKind> = {}): TextKind => (
  { events: `response.${part}`, type, list: "content", field: "text", part, ...more }
);

const TEXTS: readonly TextKind[] = [
  inPart("output_text", "message"),
  inPart("refusal", "message", { field: "refusal" }),
  inPart("reasoning_text", "reasoning"),
  inPart("summary_text", "reasoning", {
    events: "response.reasoning_summary_text",
    list: "summary",
  }),
  own("function_call", "arguments"),
  own("custom_tool_call", "input"),
  own("mcp_call", "arguments"),
  own("code_interpreter_call", "code"),
];

/** Progress of tools that run at the upstream. */
const PROGRESS: Readonly<Record<string, readonly string[]>> = {
  file_search_call: ["in_progress", "searching", "completed"],
  web_search_call: ["in_progress", "searching", "completed"],
  code_interpreter_call: ["in_progress", "interpreting", "completed"],
  image_generation_call: ["in_progress", "generating", "partial_image", "completed"],
  mcp_call: ["in_progress", "completed", "failed"],
  mcp_list_tools: ["in_progress", "completed", "failed"],
};

const PLAIN = { isCarried: true, isHosted: false, isDone: false };
const DONE = { ...PLAIN, isDone: true };

function textEvents(events: string, text: TextKind, isCarried = true): [string, EventKind][] {
  const isHosted = text.type in PROGRESS;
  const kind = { ...PLAIN, isCarried, isHosted, step: "text", text } as const;
  return [[`${events}.delta`, kind], [`${events}.done`, { ...kind, isDone: true }]];
}

/** All events that are read, by their types. */
export const EVENT_KINDS: ReadonlyMap<unknown, EventKind> = new Map<unknown, EventKind>([
  ...["queued", "created", "in_progress"].map((name): [string, EventKind] => [
    `response.${name}`,
    { ...PLAIN, step: "beginning" },
  ]),
  ["response.completed", { ...DONE, step: "end" }],
  ["response.incomplete", { ...DONE, step: "end" }],
  ["response.output_item.added", { ...PLAIN, step: "item" }],
  ["response.output_item.done", { ...DONE, step: "item" }],
  ["response.content_part.added", { ...PLAIN, step: "part", list: "content" }],
  ["response.content_part.done", { ...DONE, step: "part", list: "content" }],
  ["response.reasoning_summary_part.added", { ...PLAIN, step: "part", list: "summary" }],
  ["response.reasoning_summary_part.done", { ...DONE, step: "part", list: "summary" }],
  ["response.output_text.annotation.added", { ...PLAIN, step: "other", type: "message" }],
  ...TEXTS.flatMap((text) => textEvents(text.events, text)),
  ...textEvents("response.reasoning", TEXTS[2]!, false), // its name in Open Responses
  ...Object.entries(PROGRESS).flatMap(([type, names]) =>
    names.map((name): [string, EventKind] => [
      `response.${type}.${name}`,
      { ...PLAIN, isHosted: true, step: "other", type },
    ])
  ),
]);

/** The text that an item or a part in one of its lists holds in a field. */
export function textKindOf(
  type: string,
  list: TextKind["list"],
  field: string,
): TextKind | undefined {
  return TEXTS.find((one) => one.type === type && one.list === list && one.field === field);
}
