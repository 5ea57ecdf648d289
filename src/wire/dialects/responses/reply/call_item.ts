import type { JsonObject } from "../../json.ts";
import { parseArgs } from "../../neutral/conversation.ts";
import { JsonProgress } from "../../neutral/json_progress.ts";
import { CustomInput } from "../../neutral/custom_input.ts";
import { GrowingText } from "./growing_text.ts";
import type { ItemEnd, ItemLines, WrittenItem } from "./item_lines.ts";
import type { ClientTool } from "../request/tools.ts";

/** How calls of each kind of tool are named. */
const KINDS = {
  function: {
    prefix: "fc",
    type: "function_call",
    field: "arguments",
    events: "response.function_call_arguments",
  },
  custom: {
    prefix: "ctc",
    type: "custom_tool_call",
    field: "input",
    events: "response.custom_tool_call_input",
  },
  // its arguments are an object, so that there is nothing to send before they are complete
  tool_search: { prefix: "tsc", type: "tool_search_call", field: "arguments", events: undefined },
} as const;

/** What an item's id begins with. */
export function callPrefix({ kind }: ClientTool): string {
  return KINDS[kind].prefix;
}

/**
 * A call of a tool, in the form in which the client offered it. A call that was cut off has no event that ends it, as clients run
 * a call when it is done.
 */
export class CallItem implements WrittenItem {
  readonly #lines: ItemLines;
  readonly #tool: ClientTool;
  readonly #callId: string;
  readonly #progress = new JsonProgress();
  readonly #input: CustomInput | undefined;
  readonly #text = new GrowingText();

  constructor(lines: ItemLines, tool: ClientTool, callId: string) {
    this.#lines = lines;
    this.#tool = tool;
    this.#callId = callId;
    this.#input = tool.kind === "custom" ? new CustomInput() : undefined;
  }

  /** Whether the arguments are a whole JSON object. */
  get isComplete(): boolean {
    return this.#progress.complete;
  }

  open(): string {
    return this.#lines.added(
      this.#call("in_progress", this.#tool.kind === "tool_search" ? {} : ""),
    );
  }

  add(args: string): string {
    this.#progress.add(args);
    return this.#grow(this.#input === undefined ? args : this.#input.add(args));
  }

  close(end: ItemEnd): string {
    let rest = this.#grow(this.#input?.end() ?? "");
    if (end === "incomplete" && !this.isComplete) return rest;
    if (this.#tool.kind === "function" && this.#text.text.trim() === "") rest += this.#grow("{}");
    rest += this.#delta(this.#text.end());
    const { events, field } = KINDS[this.#tool.kind];
    const name = this.#tool.kind === "function" ? { name: this.#tool.name } : {};
    const done = events === undefined
      ? ""
      : this.#lines.write(`${events}.done`, { ...name, [field]: this.#text.text });
    return rest + done + this.#lines.done(this.object("completed"));
  }

  object(status: ItemEnd): JsonObject {
    const { text } = this.#text;
    const isObject = this.#tool.kind === "tool_search";
    return this.#call(status, isObject ? parseArgs(text) ?? text : text);
  }

  #call(status: string, value: string | JsonObject): JsonObject {
    const { kind, name, namespace } = this.#tool;
    const { type, field } = KINDS[kind];
    return {
      id: this.#lines.id,
      type,
      status,
      call_id: this.#callId,
      ...(kind === "tool_search" ? { execution: "client" } : { name }),
      [field]: value,
      ...(namespace === undefined ? {} : { namespace }),
    };
  }

  #grow(piece: string): string {
    return piece === "" ? "" : this.#delta(this.#text.add(piece));
  }

  #delta(delta: string): string {
    const { events } = KINDS[this.#tool.kind];
    return delta === "" || events === undefined
      ? ""
      : this.#lines.write(`${events}.delta`, { delta });
  }
}
