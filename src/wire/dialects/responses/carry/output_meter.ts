import { isObject, items, type JsonObject, type JsonValue, text } from "../../json.ts";
import { isItemId, Meter } from "../../meter.ts";
import { TextProgress } from "../../neutral/text_progress.ts";
import type { TextKind } from "../upstream/event_kinds.ts";
import { partsOf } from "../items.ts";
import type { OutputItem, OutputStep } from "../upstream/output_walk.ts";

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

const END_PLACES = new Set([...PLACES, "response"]);

/** Fields of a response that the gateway writes itself. */
const OWN = new Set(["id", "model", "output", "store"]);

/** What was counted, by its place. */
type Counts = Map<string, TextProgress>;

/** What is kept of an item to be counted. */
export interface CountedItem {
  readonly counts: Counts;
}

/** Places that are told apart; what is beyond is counted each time. */
const MAX_PLACES = 4_096;

/**
 * Counts what a response says, whole or as a stream, each text once: events at the end repeat what came in deltas, and what
 * they say beyond it counts. Fields of the request that come back are free.
 */
export class OutputMeter {
  readonly #meter = new Meter();
  /** What was counted of fields that hold no output of a model's. */
  readonly #others: Counts = new Map();
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

  /** Tokens of them that some tokenizer may not need. */
  get overcounted(): number {
    return this.#meter.overcounted;
  }

  /** Counts an event. Returns whether it says anything. */
  event(step: OutputStep<CountedItem>): boolean {
    const { event, kind, item: { state }, index } = step;
    if (this.#hostsTools && (kind.isHosted || isHosted(step.given))) return true;
    const { delta } = event;
    let any = false;
    if (kind.step !== "text" || typeof delta !== "string") {
      any = this.#meter.addTexts(delta, "delta", text(event.type));
    } else if (delta !== "") {
      progressAt(state.counts, placeOf(kind.text, index)).add(delta);
      this.#meter.add(delta);
      any = true;
    }
    for (const key in event) {
      const value = event[key];
      if (PLACES.has(key) || value === undefined || value === null) continue;
      any = this.#field(step, key, value) || any;
    }
    return any;
  }

  #field(
    { event, kind, item: { state: { counts } }, given, index }: OutputStep<CountedItem>,
    key: string,
    value: JsonValue,
  ): boolean {
    if (value === given) {
      return kind.step === "part"
        ? this.#part(counts, `${kind.list} ${index}`, given)
        : this.#item(counts, given);
    }
    if (kind.step === "text" && key === kind.text.field && typeof value === "string") {
      return this.#whole(counts, placeOf(kind.text, index), value);
    }
    if (key === "annotation") {
      const path = `content ${index} annotations ${event.annotation_index}`;
      return this.#other(counts, path, key, value);
    }
    const isOfItem = kind.step === "text" || kind.step === "other";
    return this.#other(isOfItem ? counts : this.#others, `${event.type} ${key}`, key, value);
  }

  /**
   * Counts a whole response. Returns whether it says anything.
   *
   * @param output Its items, with what is kept of each.
   */
  response(
    response: JsonObject,
    output: readonly (readonly [OutputItem<CountedItem>, JsonObject])[],
  ): boolean {
    let any = this.#fields(response, "response", OWN);
    for (const [{ state }, item] of output) any = this.#item(state.counts, item) || any;
    return any;
  }

  /** Counts the event that brings it, likewise. */
  end(event: JsonObject): boolean {
    return this.#fields(event, text(event.type) ?? "", END_PLACES);
  }

  #fields(fields: JsonObject, at: string, free: ReadonlySet<string>): boolean {
    let any = false;
    for (const key in fields) {
      const value = fields[key];
      if (free.has(key) || value === undefined || value === null) continue;
      const echo = free === OWN ? this.#echoes[key] ?? 0 : 0;
      if (echo > 0 && JSON.stringify(value).length <= echo) continue;
      any = this.#other(this.#others, `${at} ${key}`, key, value) || any;
    }
    return any;
  }

  #item(state: Counts, item: JsonObject): boolean {
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

  #part(state: Counts, path: string, part: JsonObject): boolean {
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
  #whole(state: Counts, path: string, whole: string): boolean {
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
  #other(state: Counts, path: string, key: string, value: JsonValue): boolean {
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

function placeOf({ list, field }: TextKind, index: number): string {
  return list === undefined ? field : `${list} ${index} ${field}`;
}

function progressAt(texts: Counts, path: string): TextProgress {
  let progress = texts.get(path);
  if (progress === undefined) {
    progress = new TextProgress();
    if (texts.size < MAX_PLACES) texts.set(path, progress);
  }
  return progress;
}
