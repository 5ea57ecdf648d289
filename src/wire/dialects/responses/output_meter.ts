import { isObject, items, type JsonObject, type JsonValue, objects, text } from "../json.ts";
import { isItemId, Meter } from "../meter.ts";
import { TextProgress } from "../neutral/text_progress.ts";
import { partsOf, typeOf } from "./items.ts";
import { type OutputItem, OutputItems } from "./output_items.ts";
import { itemTypeOf, partIndexOf, textEventsOf } from "./text_events.ts";

/** Fields of an event that only say where it belongs, or describe what is counted as text. */
const PLACES = new Set([
  "type",
  "sequence_number",
  "item_id",
  "output_index",
  "content_index",
  "summary_index",
  "annotation_index",
  "delta",
  "logprobs",
  "obfuscation",
]);

/** Fields of a response that the gateway writes itself. */
const OWN = new Set(["id", "model", "output", "store"]);

/** What is kept of an item. */
type Texts = Map<string, TextProgress>;
type Item = OutputItem<Texts>;

/** Places that are told apart; what is beyond is counted each time. */
const MAX_PLACES = 4_096;

/**
 * Counts what a response says, whole or as a stream, each text once: events at the end repeat what came in deltas, and what
 * they say beyond it counts. Fields of the request that come back are free.
 */
export class OutputMeter {
  readonly #meter = new Meter();
  readonly #items = new OutputItems<Texts>(() => new Map());
  /** What was counted of fields that hold no output of a model's. */
  readonly #others = new Map<string, TextProgress>();
  /** Whether tools run at the upstream: what they find is its input. */
  readonly #hostsTools: boolean;
  /** Characters that fields of the request may have when they come back. */
  readonly #echoes: Readonly<Record<string, number>>;

  /**
   * @param request The request's body; only its sizes are kept.
   * @param hostsTools Whether tools run at the upstream.
   */
  constructor(request: JsonObject, hostsTools = false) {
    this.#hostsTools = hostsTools;
    // as they come back, defaults of theirs are in them
    this.#echoes = Object.fromEntries(
      Object.entries(request).filter(([key]) => key !== "input").map((
        [key, value],
      ) => [key, 2 * (JSON.stringify(value)?.length ?? 0)]),
    );
  }

  /** Tokens so far. */
  get tokens(): number {
    return this.#meter.tokens;
  }

  /** Counts an event. Returns whether it says anything. */
  event(event: JsonObject): boolean {
    const type = text(event.type) ?? "";
    if (this.#isFound(type, event.item)) return true;
    let any = this.#text(event, type);
    for (const key in event) {
      const value = event[key];
      if (PLACES.has(key) || value === undefined || value === null) continue;
      any = this.#field(event, type, { key, value }) || any;
    }
    return any;
  }

  /** Counts a whole response. Returns whether it says anything. */
  response(response: JsonObject): boolean {
    let any = false;
    for (const key in response) {
      const value = response[key];
      if (OWN.has(key) || value === undefined || value === null) continue;
      const echo = this.#echoes[key] ?? 0;
      if (echo > 0 && JSON.stringify(value).length <= echo) continue;
      any = this.#other(this.#others, `response ${key}`, key, value) || any;
    }
    for (const [item, value] of this.#items.match(objects(response.output))) {
      any = this.#item(item, value) || any;
    }
    return any;
  }

  #text(event: JsonObject, type: string): boolean {
    const texts = textEventsOf(type);
    const { delta } = event;
    if (delta === undefined || delta === null) return false;
    if (texts === undefined || typeof delta !== "string") {
      return this.#meter.addTexts(delta, "delta", type);
    }
    if (delta === "") return false;
    const item = this.#items.find(event, texts.type);
    const path = texts.list === undefined
      ? texts.field
      : `${texts.list} ${partIndexOf(event, texts.list)} ${texts.field}`;
    progressAt(item.state, path).add(delta);
    this.#meter.add(delta);
    return true;
  }

  #field(
    event: JsonObject,
    type: string,
    { key, value }: { key: string; value: JsonValue },
  ): boolean {
    const texts = textEventsOf(type);
    if (key === "response" && isObject(value)) return this.response(value);
    if (key === "item" && isObject(value)) {
      if (type === "response.output_item.added") {
        return this.#item(this.#items.begin(event, value), value);
      }
      const item = this.#items.find(event, typeOf(value), text(value.id) || undefined);
      item.isDone = true;
      return this.#item(item, value);
    }
    if (key === "part" && isObject(value)) {
      const list = type.startsWith("response.reasoning_summary_part.") ? "summary" : "content";
      const isReasoning = list === "summary" || value.type === "reasoning_text";
      const item = this.#items.find(event, isReasoning ? "reasoning" : "message");
      return this.#part(item.state, `${list} ${partIndexOf(event, list)}`, value);
    }
    if (key === "annotation") {
      const item = this.#items.find(event, "message");
      const path = `content ${partIndexOf(event, "content")} annotations ${event.annotation_index}`;
      return this.#other(item.state, path, key, value);
    }
    if (texts !== undefined && key === texts.field && typeof value === "string") {
      const item = this.#items.find(event, texts.type);
      const path = texts.list === undefined
        ? texts.field
        : `${texts.list} ${partIndexOf(event, texts.list)} ${texts.field}`;
      return this.#whole(item.state, path, value);
    }
    const itemType = itemTypeOf(type);
    const state = itemType === "" ? this.#others : this.#items.find(event, itemType).state;
    return this.#other(state, `${type} ${key}`, key, value);
  }

  /** Whether it is of a tool that runs at the upstream. */
  #isFound(type: string, item: JsonValue | undefined): boolean {
    if (!this.#hostsTools) return false;
    return /^response\.(?:\w+_call|mcp_\w+|code_interpreter\w*)\./.test(type) &&
        !/function_call|custom_tool_call/.test(type) || isObject(item) && isHosted(item);
  }

  #item({ state }: Item, item: JsonObject): boolean {
    if (this.#hostsTools && isHosted(item)) return true;
    let any = false;
    for (const key in item) {
      const value = item[key];
      if (value === undefined || value === null) continue;
      if (key === "content" || key === "summary") {
        const parts = typeof value === "string" ? partsOf(value) : items(value);
        for (const [at, part] of parts.entries()) {
          any = (isObject(part)
            ? this.#part(state, `${key} ${at}`, part)
            : this.#other(state, `${key} ${at}`, key, part)) || any;
        }
        if (!Array.isArray(value) && typeof value !== "string") {
          any = this.#other(state, key, key, value) || any;
        }
      } else if (/^(arguments|input|code)$/.test(key) && typeof value === "string") {
        any = this.#whole(state, key, value) || any;
      } else if (key !== "id" || typeof value !== "string" || !isItemId(value)) {
        any = this.#other(state, key, key, value) || any;
      }
    }
    return any;
  }

  #part(state: Texts, path: string, part: JsonObject): boolean {
    let any = false;
    for (const key in part) {
      const value = part[key];
      if (value === undefined || value === null || key === "logprobs") continue;
      if ((key === "text" || key === "refusal") && typeof value === "string") {
        any = this.#whole(state, `${path} ${key}`, value) || any;
      } else if (key === "annotations" && Array.isArray(value)) {
        for (const [at, one] of value.entries()) {
          any = this.#other(state, `${path} annotations ${at}`, "annotation", one) || any;
        }
      } else {
        any = this.#other(state, `${path} ${key}`, key, value) || any;
      }
    }
    return any;
  }

  /** A whole text: only what it says beyond its deltas, unless it is another one. */
  #whole(state: Texts, path: string, whole: string): boolean {
    if (whole === "") return false;
    let said = progressAt(state, path).rest(whole);
    if (said === undefined) {
      state.delete(path);
      progressAt(state, path).add(whole);
      said = whole;
    }
    this.#meter.add(said);
    return said !== "";
  }

  /** A field of another kind: counted again when it is another one. */
  #other(state: Texts, path: string, key: string, value: JsonValue): boolean {
    if (typeof value === "number" || typeof value === "boolean") {
      return this.#meter.addTexts({ [key]: value });
    }
    const json = JSON.stringify(value);
    const known = state.get(path);
    if (known?.rest(json) === "") return false;
    state.delete(path);
    progressAt(state, path).add(json);
    return this.#meter.addTexts({ [key]: value }, "item");
  }
}

function isHosted({ type }: JsonObject): boolean {
  const kind = text(type) ?? "";
  return /_call$|^mcp_/.test(kind) && kind !== "function_call" && kind !== "custom_tool_call";
}

function progressAt(texts: Texts, path: string): TextProgress {
  let progress = texts.get(path);
  if (progress === undefined) {
    progress = new TextProgress();
    if (texts.size < MAX_PLACES) texts.set(path, progress);
  }
  return progress;
}
