import { type JsonObject, objects, text } from "../../json.ts";
import { TextProgress } from "../../neutral/text_progress.ts";
import { tooMuch } from "../../upstream_error.ts";
import { fullLogprobs } from "../items.ts";
import { fullPart } from "./carried_item.ts";
import { type TextKind, textKindOf } from "../upstream/event_kinds.ts";
import type { CountedItem } from "./output_meter.ts";
import type { OutputItem } from "../upstream/output_walk.ts";

/** Parts of all items of one reply. */
const MAX_PARTS = 4_096;

/** Writes one event. */
export type WriteEvent = (type: string, fields: JsonObject) => string;

/** What is kept of an item: all of it, as the end of the response repeats it. */
export interface CarriedItem extends CountedItem {
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

export function carriedText(holder: JsonObject, place: JsonObject = {}, index = 0): CarriedText {
  const progress = new TextProgress();
  return { holder, place, index, progress, half: "", isWhole: false, isDone: false };
}

type Item = OutputItem<CarriedItem>;
type List = "content" | "summary";

/** Where a part is in its item, as the upstream counts. */
interface PartPlace {
  readonly list: List;
  readonly index: number;
}

const PARTS = { content: "content", summary: "reasoning_summary" } as const;
/** An item's own texts, which are in no part. */
export const OWN_TEXTS = ["arguments", "input", "code"] as const;

/** The parts and texts of the items of a stream that is carried: each is begun before its first delta, and ends once. */
export class CarriedTexts {
  readonly #write: WriteEvent;
  readonly #beginItem: (known: Item, id: unknown) => string | undefined;
  #partCount = 0;

  /**
   * @param options.beginItem Writes the beginning of the item of a part, if its upstream has left it out; `undefined` if it cannot be made up.
   */
  constructor(
    { write, beginItem }: {
      write: WriteEvent;
      beginItem: (known: Item, id: unknown) => string | undefined;
    },
  ) {
    this.#write = write;
    this.#beginItem = beginItem;
  }

  /** A piece of a text, or the text once more, after what its pieces have left out of it. */
  text(
    known: Item,
    kind: TextKind,
    { event, index }: { readonly event: JsonObject; readonly index: number },
  ): string {
    const piece = text(event.delta);
    const whole = text(event[kind.field]);
    if (piece === undefined && whole === undefined) return "";
    const { written, begun } = kind.list === undefined
      ? { written: "", begun: known.state.own }
      : this.#begin(known, { list: kind.list, index }, () => emptyPart(kind), event.item_id);
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

  /** The beginning of a part, if it is not begun. */
  beginPart(known: Item, place: PartPlace, given: JsonObject): string {
    return this.#begin(known, place, () => given).written;
  }

  /** What a whole part says beyond its pieces, and its end. */
  endPart(known: Item, { list, index }: PartPlace, given: JsonObject): string {
    const part = fullPart(given, textTypeOf(known, list));
    const make = () => ({ ...part, ...emptied(part) });
    const { written, begun } = this.#begin(known, { list, index }, make);
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

  /** What a whole item says beyond the events of its parts and texts. */
  endAll(known: Item, item: JsonObject): string {
    let written = "";
    for (const list of ["content", "summary"] as const) {
      for (const [index, part] of objects(item[list]).entries()) {
        written += this.endPart(known, { list, index: indexOf(known, list, index) }, part);
      }
    }
    for (const field of OWN_TEXTS) {
      const kind = textKindOf(known.type, undefined, field);
      written += this.#rest(known, kind, known.state.own!, text(item[field]) ?? "");
    }
    return written;
  }

  #begin(
    known: Item,
    { list, index }: PartPlace,
    make: () => JsonObject,
    itemId?: unknown,
  ): { written: string; begun: CarriedText | undefined } {
    const { state } = known;
    const missing = this.#beginItem(known, itemId);
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

/** The upstream's index of the part in this place of the whole item. */
function indexOf({ state }: Item, list: List, place: number): number {
  const begun = [...state.parts].find(([key, { index }]) =>
    key.startsWith(list) && index === place
  );
  return begun === undefined ? place : Number(begun[0].slice(list.length));
}

/** Type of the texts in a list of an item. */
function textTypeOf({ type }: Item, list: List): string {
  return textKindOf(type, list, "text")?.part ?? "output_text";
}

/** What can be sent on of a text that is cut within a character: the other half comes with the next piece. */
function wholeCharacters(state: { half: string }, piece: string): string {
  const all = state.half + piece;
  state.half = /[\ud800-\udbff]$/.exec(all)?.[0] ?? "";
  return state.half === "" ? all : all.slice(0, -1);
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
export function emptied(value: JsonObject): JsonObject {
  const empty: JsonObject = {};
  for (const key of ["text", "refusal", ...OWN_TEXTS]) {
    if (typeof value[key] === "string") empty[key] = "";
  }
  for (const key of ["content", "summary"]) if (Array.isArray(value[key])) empty[key] = [];
  return empty;
}
