import { isObject, items, type JsonObject, objects, text } from "../../json.ts";
import { TextProgress } from "../../neutral/text_progress.ts";
import { tooMuch } from "../../upstream_error.ts";
import { fullLogprobs } from "../items.ts";
import {
  CarriedNames,
  fullAnnotation,
  fullItem,
  fullPart,
  isCutOff,
  isUnnamedCall,
  itemAtEnd,
  type ResponseEnd,
  statusAtEnd,
} from "./carried_item.ts";
import { type TextKind, textKindOf } from "../upstream/event_kinds.ts";
import type { CountedItem } from "./output_meter.ts";
import { type OutputItem, type OutputStep, OutputWalk } from "../upstream/output_walk.ts";

/** Parts of all items of one reply. */
const MAX_PARTS = 4_096;

/** Writes one event. */
export type WriteEvent = (type: string, fields: JsonObject) => string;

/** What is kept of an item: all of it, as the end of the response repeats it. */
interface CarriedItem extends CountedItem {
  /** As the client has it; undefined until its first event was written. */
  item: JsonObject | undefined;
  /** Its place in the output that the client has. */
  place: { readonly item_id: string; readonly output_index: number } | undefined;
  /** Of the item's own. */
  own: CarriedText | undefined;
  /** Of parts that were begun, by the list and the upstream's index. */
  readonly parts: Map<string, CarriedText>;
  /** Whether it is a call that was cut off: clients run a call that is done, so it never is. */
  isCut: boolean;
}

/** A text that an item or a part holds, as far as it was written. */
interface CarriedText {
  readonly holder: JsonObject;
  /** Where events say that it is, besides the item. */
  readonly place: JsonObject;
  /** Of a part, in its list. */
  readonly index: number;
  readonly progress: TextProgress;
  /** Half a character at the end of the last delta. */
  half: string;
  /** Whether that was repeated whole: a delta after it is none. */
  isWhole: boolean;
  isDone: boolean;
}

function carriedText(holder: JsonObject, place: JsonObject = {}, index = 0): CarriedText {
  const progress = new TextProgress();
  return { holder, place, index, progress, half: "", isWhole: false, isDone: false };
}

type Item = OutputItem<CarriedItem>;
type List = "content" | "summary";

/**
 * The output of a stream that is carried: events go on as they are, but for what SDKs fail over. An item and a part are begun
 * before their first delta, ids and places stay the same, and what only the end says is written as deltas, too.
 */
export class CarriedOutput {
  /** Tells what an event is about. */
  readonly walk = new OutputWalk<CarriedItem>(() => ({
    item: undefined,
    place: undefined,
    own: undefined,
    parts: new Map(),
    isCut: false,
    counts: new Map(),
  }));
  readonly #write: WriteEvent;
  readonly #all: Item[] = [];
  readonly #names: CarriedNames;
  /** Calls whose ends wait: only the end of the response tells whether they were cut off. */
  readonly #held: Item[] = [];
  #partCount = 0;
  readonly #seal: (item: JsonObject) => JsonObject;

  /**
   * @param options.idPart Basis of the ids of items that have none.
   * @param options.seal Seals what the upstream sealed in an item that is complete.
   */
  constructor(
    { idPart, write, seal }: {
      idPart: string;
      write: WriteEvent;
      seal: (item: JsonObject) => JsonObject;
    },
  ) {
    this.#names = new CarriedNames(idPart);
    this.#write = write;
    this.#seal = seal;
  }

  /** The items so far, in the order in which they were begun. */
  get items(): JsonObject[] {
    return this.#all.flatMap(({ state: { item } }) => item === undefined ? [] : [item]);
  }

  /** Those of them that the client may refer to. */
  get kept(): JsonObject[] {
    return this.#all.flatMap(({ state: { item, isCut } }) =>
      item === undefined || isCut ? [] : [item]
    );
  }

  /** Writes an event about an item; nothing if it cannot be understood. */
  event({ event, kind, item: known, given, index }: OutputStep<CarriedItem>): string {
    switch (kind.step) {
      case "item": {
        if (kind.isDone) return this.#done(known, given);
        // a call is begun with its names, since clients take them from here
        const waits = isUnnamedCall(given, "name") || isUnnamedCall(given, "call_id");
        return waits ? "" : this.#begin(known, given);
      }
      case "part": {
        const place = { list: kind.list, index };
        return kind.isDone
          ? this.#donePart(known, place, given)
          : this.#beginPart(known, place, () => given).written;
      }
      case "text":
        return this.#text(known, kind.text, { event, index });
      default:
        // progress of a tool that runs at the upstream, annotations and the like
        return known.state.item === undefined || known.isDone || event.annotation === null
          ? ""
          : this.#write(text(event.type)!, { ...withAnnotation(event), ...known.state.place });
    }
  }

  /** Writes what the items of a whole response say beyond its events. */
  finish(output: readonly (readonly [Item, JsonObject])[], end: ResponseEnd): string {
    const matched = output.map(([known, item]) => {
      if (known.isDone) this.#sealLate(known, item);
      return this.#done(known, item, end);
    });
    return matched.join("") + this.#close(end);
  }

  /** Ends what is open, as at the token limit. */
  truncate(): string {
    return this.#close("incomplete");
  }

  #close(end: ResponseEnd): string {
    const held = this.#held.map((known) => this.#end(known, known.state.item!, end));
    const open = this.#all.map((known) => {
      const { item = {}, own } = known.state;
      const status = own?.isWhole ? "completed" : statusAtEnd(item, end);
      return this.#done(known, "status" in item ? { ...item, status } : item, end);
    });
    return [...held, ...open].join("");
  }

  /** What an upstream encrypted may come with the whole response only. */
  #sealLate({ state }: Item, { encrypted_content: encrypted }: JsonObject): void {
    if (state.item?.type !== "reasoning" || state.item.encrypted_content !== undefined) return;
    if (text(encrypted)) state.item = this.#seal({ ...state.item, encrypted_content: encrypted });
  }

  #begin(known: Item, given: JsonObject): string {
    const { state } = known;
    if (state.item !== undefined) return "";
    const item = this.#names.name(fullItem(given, "in_progress"), known.number);
    const item_id = text(item.id)!;
    const output_index = this.#all.push(known) - 1;
    state.place = { item_id, output_index };
    // parts and texts follow in events of their own
    const { encrypted_content: _, ...shown } = item; // not the whole yet
    state.item = { ...shown, ...emptied(item) };
    state.own = carriedText(state.item);
    return this.#write("response.output_item.added", { output_index, item: state.item });
  }

  /** An item whose beginning the upstream has left out; a call's cannot be made up. */
  #beginMissing(known: Item, id: unknown): string | undefined {
    if (known.state.item !== undefined) return "";
    const own = text(id) || undefined;
    switch (known.type) {
      case "message":
        return this.#begin(known, {
          id: own,
          type: "message",
          status: "in_progress",
          role: "assistant",
          content: [],
        });
      case "reasoning":
        return this.#begin(known, { id: own, type: "reasoning", summary: [] });
      default:
        return undefined;
    }
  }

  /** @param end How the response ended, where nothing more can be said of the item. */
  #done(known: Item, given: JsonObject, end?: ResponseEnd): string {
    const { state } = known;
    if (known.isDone || isUnnamedCall(given, "name") && state.item === undefined) return "";
    const item = fullItem(given, state.own?.isWhole ? "completed" : end ?? "completed");
    if (end === undefined && !saysAnything(item) && state.parts.size === 0) {
      return this.#begin(known, { ...item, status: "in_progress" }); // its text may come with the whole response
    }
    let written = this.#begin(known, "status" in item ? { ...item, status: "in_progress" } : item);
    for (const list of ["content", "summary"] as const) {
      for (const [index, part] of objects(item[list]).entries()) {
        written += this.#donePart(known, { list, index: this.#indexOf(known, list, index) }, part);
      }
    }
    for (const field of ["arguments", "input", "code"] as const) {
      const whole = text(item[field]) ?? "";
      written += this.#rest(known, textKindOf(known.type, undefined, field), state.own!, whole);
    }
    known.isDone = true;
    const said: JsonObject = { ...item, id: state.place!.item_id };
    for (const name of ["name", "call_id"]) {
      if (state.item?.[name] !== undefined) said[name] = state.item[name];
    }
    for (const field of ["arguments", "input", "code"] as const) {
      // some upstreams say it in an event of its own only
      const own = text(state.item?.[field]);
      if (own && isNothing(text(item[field]))) said[field] = own;
    }
    for (const list of ["content", "summary"] as const) {
      // some upstreams end an item without its text
      if (items(item[list]).length === 0 && state.item?.[list] !== undefined) {
        said[list] = state.item[list];
      }
    }
    if (end !== undefined || !isCutOff(said)) return written + this.#end(known, said, end);
    state.item = said;
    this.#held.push(known);
    return written;
  }

  /** Ends an item, unless it is a call that was cut off. */
  #end({ state }: Item, said: JsonObject, end: ResponseEnd = "completed"): string {
    const { item, isCut } = itemAtEnd(said, end);
    state.isCut = isCut;
    state.item = this.#seal(item);
    return isCut ? "" : this.#write("response.output_item.done", {
      output_index: state.place!.output_index,
      item: state.item,
    });
  }

  /** The upstream's index of the part in this place of the whole item. */
  #indexOf({ state }: Item, list: List, place: number): number {
    const begun = [...state.parts].find(([key, { index }]) =>
      key.startsWith(list) && index === place
    );
    return begun === undefined ? place : Number(begun[0].slice(list.length));
  }

  #beginPart(
    known: Item,
    { list, index }: { list: List; index: number },
    make: () => JsonObject,
    itemId?: unknown,
  ): { written: string; begun: CarriedText | undefined } {
    const { state } = known;
    const missing = this.#beginMissing(known, itemId);
    if (missing === undefined || state.item === undefined) return { written: "", begun: undefined };
    const key = `${list}${index}`;
    const there = state.parts.get(key);
    if (there !== undefined) return { written: missing, begun: there };
    if (++this.#partCount > MAX_PARTS) {
      throw tooMuch(`The upstream sent more than ${MAX_PARTS} parts.`);
    }
    const all = Array.isArray(state.item[list]) ? state.item[list] : [];
    const part = make();
    const full = fullPart(part, textTypeOf(known, list));
    const own = { ...full, ...emptied(full) };
    const begun = carriedText(own, { [`${list}_index`]: all.length }, all.length);
    all.push(own); // the item and its lists are the gateway's own until it is complete
    state.item[list] = all;
    state.parts.set(key, begun);
    const first = text(part.text) ?? text(part.refusal) ?? "";
    const written = missing + this.#write(`response.${PARTS[list]}_part.added`, {
      ...state.place,
      ...begun.place,
      part: { ...own },
    });
    return { written: written + this.#partRest(known, list, begun, first), begun };
  }

  /** A piece of a text, or the text once more, after what its pieces have left out of it. */
  #text(
    known: Item,
    kind: TextKind,
    { event, index }: { readonly event: JsonObject; readonly index: number },
  ): string {
    const piece = text(event.delta);
    const whole = text(event[kind.field]);
    if (piece === undefined && whole === undefined) return "";
    const { written, begun } = kind.list === undefined
      ? { written: "", begun: known.state.own }
      : this.#beginPart(known, { list: kind.list, index }, () => emptyPart(kind), event.item_id);
    if (begun === undefined || begun.isDone || begun.isWhole || known.isDone) return written;
    const logprobs = kind.part === "output_text" ? { logprobs: fullLogprobs(event.logprobs) } : {};
    const fields: JsonObject = { ...event, ...known.state.place, ...begun.place, ...logprobs };
    if (piece === undefined) {
      begun.isWhole = true;
      return written + this.#rest(known, kind, begun, whole!) +
        this.#write(`${kind.events}.done`, named(known, fields));
    }
    const delta = wholeCharacters(begun, piece);
    if (delta === "" && piece !== "") return written;
    begun.progress.add(delta);
    grow(begun, kind.field, delta);
    fields.delta = delta;
    return written + this.#write(`${kind.events}.delta`, fields);
  }

  #donePart(
    known: Item,
    { list, index }: { list: List; index: number },
    given: JsonObject,
  ): string {
    const part = fullPart(given, textTypeOf(known, list));
    const make = () => ({ ...part, ...emptied(part) });
    const { written, begun } = this.#beginPart(known, { list, index }, make);
    if (begun === undefined || begun.isDone || known.isDone) return written;
    const rest = this.#partRest(known, list, begun, text(part.text) ?? text(part.refusal) ?? "");
    begun.isDone = true;
    Object.assign(begun.holder, part);
    return written + rest + this.#write(`response.${PARTS[list]}_part.done`, {
      ...known.state.place,
      ...begun.place,
      part: { ...part },
    });
  }

  #partRest(known: Item, list: List, begun: CarriedText, whole: string): string {
    const field = typeof begun.holder.refusal === "string" ? "refusal" : "text";
    return this.#rest(known, textKindOf(known.type, list, field), begun, whole);
  }

  /** What a whole text says beyond its pieces, as another one. */
  #rest(known: Item, kind: TextKind | undefined, begun: CarriedText, whole: string): string {
    if (kind === undefined || whole === "") return "";
    const delta = begun.progress.rest(whole) ?? "";
    if (delta === "") return "";
    grow(begun, kind.field, delta);
    return this.#write(`${kind.events}.delta`, {
      ...known.state.place,
      ...begun.place,
      delta,
      ...(kind.part === "output_text" ? { logprobs: [] } : {}),
    });
  }
}

/** Type of the texts in a list of an item. */
function textTypeOf({ type }: Item, list: List): string {
  return textKindOf(type, list, "text")?.part ?? "output_text";
}

const PARTS = { content: "content", summary: "reasoning_summary" } as const;

/** Whether a message or reasoning has any text, or a sealed one. */
function saysAnything(item: JsonObject): boolean {
  if (item.type !== "message" && item.type !== "reasoning") return true;
  return items(item.content).length > 0 || items(item.summary).length > 0 ||
    Boolean(text(item.encrypted_content));
}

/** Whether arguments say nothing. */
function isNothing(args: string | undefined): boolean {
  return args === undefined || /^\s*(\{\s*\})?\s*$/.test(args);
}

/** What can be sent on of a text that is cut within a character: the other half comes with the next piece. */
function wholeCharacters(state: { half: string }, piece: string): string {
  const all = state.half + piece;
  state.half = /[\ud800-\udbff]$/.exec(all)?.[0] ?? "";
  return state.half === "" ? all : all.slice(0, -1);
}

function withAnnotation(event: JsonObject): JsonObject {
  const { annotation } = event;
  return isObject(annotation) ? { ...event, annotation: fullAnnotation(annotation) } : event;
}

function emptyPart({ part, field }: TextKind): JsonObject {
  const annotations = part === "output_text" ? { annotations: [] } : {};
  return { type: part, [field]: "", ...annotations };
}

function grow({ holder }: CarriedText, field: string, piece: string): void {
  holder[field] = `${text(holder[field]) ?? ""}${piece}`;
}

/** The end of a function call's arguments has its name, which some upstreams leave out. */
function named({ state: { item }, type }: Item, done: JsonObject): JsonObject {
  const name = text(item?.name);
  return type !== "function_call" || name === undefined ? done : { name, ...done };
}

/** The fields of an item or a part whose text comes in deltas, without any. */
function emptied(value: JsonObject): JsonObject {
  const empty: JsonObject = {};
  for (const key of ["text", "refusal", "arguments", "input", "code"]) {
    if (typeof value[key] === "string") empty[key] = "";
  }
  for (const key of ["content", "summary"]) if (Array.isArray(value[key])) empty[key] = [];
  return empty;
}
