import { isObject, items, type JsonObject, objects, text } from "../json.ts";
import { TextProgress } from "../neutral/text_progress.ts";
import { tooMuch } from "../upstream_error.ts";
import { CarriedNames, fullItem, fullPart, isUnnamedCall } from "./carried_item.ts";
import { typeOf } from "./items.ts";
import { type OutputItem, OutputItems } from "./output_items.ts";
import {
  itemTypeOf,
  kindOfText,
  partIndexOf,
  type TextEvents,
  textEventsOf,
} from "./text_events.ts";

/** Parts of all items of one reply. */
const MAX_PARTS = 4_096;

/** Writes one event. */
export type WriteEvent = (type: string, fields: JsonObject) => string;

/** What is kept of an item: all of it, as the end of the response repeats it. */
interface Carried {
  /** As the client has it; undefined until its first event was written. */
  item: JsonObject | undefined;
  /** Its id, the same in all events. */
  id: string;
  /** Parts that were begun, by the list and the upstream's index. */
  readonly parts: Map<string, CarriedPart>;
  /** Of the item's own text. */
  readonly progress: TextProgress;
  /** Half a character at the end of the last delta. */
  half: string;
  /** Whether that was repeated whole: a delta after it is none. */
  isWhole: boolean;
}

interface CarriedPart {
  readonly index: number;
  readonly part: JsonObject;
  readonly progress: TextProgress;
  half: string;
  isWhole: boolean;
  isDone: boolean;
}

type Item = OutputItem<Carried>;
type List = "content" | "summary";

/**
 * The output of a stream that is carried: events go on as they are, but for what SDKs fail over. An item and a part are begun
 * before their first delta, ids and places stay the same, and what only the end says is written as deltas, too.
 */
export class CarriedOutput {
  readonly #write: WriteEvent;
  readonly #all: Item[] = [];
  readonly #items: OutputItems<Carried>;
  readonly #names: CarriedNames;
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
    this.#items = new OutputItems((number) => ({
      item: undefined,
      id: `item_${idPart}_${number}`,
      parts: new Map(),
      progress: new TextProgress(),
      half: "",
      isWhole: false,
    }));
  }

  /** The items so far, in the order in which they were begun. */
  get items(): JsonObject[] {
    return this.#all.flatMap(({ state: { item } }) => item === undefined ? [] : [item]);
  }

  /** Writes an event about an item; nothing if it cannot be understood. */
  event(event: JsonObject & { type: string }): string {
    const { type, sequence_number: _, ...fields } = event;
    const { item, part } = event;
    if (type === "response.output_item.added" && isObject(item)) {
      const known = this.#items.begin(event, item);
      // a call is begun with its names, since clients take them from here
      const waits = isUnnamedCall(item, "name") || isUnnamedCall(item, "call_id");
      return waits ? "" : this.#begin(known, item);
    }
    if (type === "response.output_item.done" && isObject(item)) {
      const id = text(item.id) || undefined;
      return this.#done(this.#items.find(event, typeOf(item), id), item);
    }
    const partEvent = /^response\.(content|reasoning_summary)_part\.(added|done)$/.exec(type);
    if (partEvent !== null) {
      if (!isObject(part)) return "";
      const list = partEvent[1] === "content" ? "content" : "summary";
      const isReasoning = list === "summary" || part.type === "reasoning_text";
      const known = this.#items.find(event, isReasoning ? "reasoning" : "message");
      const place = { list, index: partIndexOf(event, list) } as const;
      return partEvent[2] === "added"
        ? this.#beginPart(known, place, part).written
        : this.#donePart(known, place, part);
    }
    const texts = textEventsOf(type);
    if (texts === undefined) return this.#other(type, fields);
    const known = this.#items.find(event, texts.type);
    if (typeof event.delta === "string") return this.#delta(known, texts, fields);
    const whole = text(event[texts.field]);
    return whole === undefined ? "" : this.#doneText(known, texts, fields, whole);
  }

  /** Writes what a whole response says beyond its events. */
  finish(output: readonly JsonObject[]): string {
    const matched = this.#items.match(output).map(([known, item]) => {
      if (known.isDone) this.#sealLate(known, item);
      return this.#done(known, item, true);
    });
    return matched.join("") + this.#close("completed");
  }

  /** Ends what is open, as at the token limit. */
  truncate(): string {
    return this.#close("incomplete");
  }

  #close(status: string): string {
    return this.#all.map((known) => {
      const { item = {} } = known.state;
      return this.#done(known, "status" in item ? { ...item, status } : item, true);
    }).join("");
  }

  /** What an upstream encrypted may come with the whole response only. */
  #sealLate({ state }: Item, { encrypted_content: encrypted }: JsonObject): void {
    if (state.item?.type !== "reasoning" || state.item.encrypted_content !== undefined) return;
    if (text(encrypted)) state.item = this.#seal({ ...state.item, encrypted_content: encrypted });
  }

  #fields(known: Item, fields: JsonObject): JsonObject {
    return { ...fields, item_id: known.state.id, output_index: this.#all.indexOf(known) };
  }

  #begin(known: Item, given: JsonObject): string {
    const { state } = known;
    if (state.item !== undefined) return "";
    const item = this.#names.name(fullItem(given, "in_progress"), known.number);
    state.id = text(item.id)!;
    this.#all.push(known);
    // parts and texts follow in events of their own
    const { encrypted_content: _, ...shown } = item; // not the whole yet
    state.item = { ...shown, ...emptied(item) };
    return this.#write("response.output_item.added", {
      output_index: this.#all.indexOf(known),
      item: state.item,
    });
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

  /** @param isLast Whether nothing more can be said of it. */
  #done(known: Item, given: JsonObject, isLast = false): string {
    const { state } = known;
    if (known.isDone || isUnnamedCall(given, "name") && state.item === undefined) return "";
    const item = fullItem(given, "completed");
    if (!isLast && !saysAnything(item) && state.parts.size === 0) {
      return this.#begin(known, { ...item, status: "in_progress" }); // its text may come with the whole response
    }
    let written = this.#begin(known, "status" in item ? { ...item, status: "in_progress" } : item);
    for (const list of ["content", "summary"] as const) {
      for (const [index, part] of objects(item[list]).entries()) {
        written += this.#donePart(known, { list, index: this.#indexOf(known, list, index) }, part);
      }
    }
    for (const field of ["arguments", "input", "code"] as const) {
      const whole = text(item[field]);
      const texts = { type: known.type, list: undefined, field, part: "" };
      if (whole !== undefined) written += this.#ownRest(known, texts, whole);
    }
    known.isDone = true;
    const said: JsonObject = { ...item, id: state.id };
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
    state.item = this.#seal(said);
    return written + this.#write("response.output_item.done", {
      output_index: this.#all.indexOf(known),
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
    part: JsonObject,
    itemId?: unknown,
  ): { written: string; begun: CarriedPart | undefined } {
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
    const own = { ...fullPart(part), ...emptied(fullPart(part)) };
    const begun = {
      index: all.length,
      part: own,
      progress: new TextProgress(),
      half: "",
      isWhole: false,
      isDone: false,
    };
    all.push(own); // the item and its lists are the gateway's own until it is complete
    state.item[list] = all;
    state.parts.set(key, begun);
    const first = text(part.text) ?? text(part.refusal) ?? "";
    const written = missing + this.#write(`response.${PARTS[list]}_part.added`, {
      ...this.#fields(known, {}),
      [`${list}_index`]: begun.index,
      part: { ...own },
    });
    return first === ""
      ? { written, begun }
      : { written: written + this.#partRest(known, { list, begun }, first), begun };
  }

  #delta(known: Item, texts: TextEvents, fields: JsonObject): string {
    const { list, field } = texts;
    const piece = text(fields.delta) ?? "";
    if (list === undefined) {
      const { state } = known;
      if (state.item === undefined || known.isDone || state.isWhole) return "";
      const delta = wholeCharacters(state, piece);
      if (delta === "" && piece !== "") return "";
      state.progress.add(delta);
      state.item[field] = `${text(state.item[field]) ?? ""}${delta}`;
      return this.#write(`${kindOfText(texts)}.delta`, this.#fields(known, { ...fields, delta }));
    }
    const place = { list, index: partIndexOf(fields, list) };
    const empty = {
      type: texts.part,
      [field]: "",
      ...(texts.part === "output_text" ? { annotations: [] } : {}),
    };
    const { written, begun } = this.#beginPart(known, place, empty, fields.item_id);
    if (begun === undefined || begun.isDone || known.isDone) return written;
    if (begun.isWhole) return written;
    const delta = wholeCharacters(begun, piece);
    if (delta === "" && piece !== "") return written;
    begun.progress.add(delta);
    begun.part[field] = `${text(begun.part[field]) ?? ""}${delta}`;
    return written +
      this.#write(`${kindOfText(texts)}.delta`, {
        ...this.#fields(known, { ...fields, delta }),
        [`${list}_index`]: begun.index,
      });
  }

  /** An event that repeats a text, after what the deltas have left out of it. */
  #doneText(known: Item, texts: TextEvents, fields: JsonObject, whole: string): string {
    const { list, field } = texts;
    if (list === undefined) {
      if (known.state.item === undefined || known.isDone) return "";
      if (known.state.isWhole) return "";
      known.state.isWhole = true;
      return this.#ownRest(known, texts, whole, fields);
    }
    const place = { list, index: partIndexOf(fields, list) };
    const empty = {
      type: texts.part,
      [field]: "",
      ...(texts.part === "output_text" ? { annotations: [] } : {}),
    };
    const { written, begun } = this.#beginPart(known, place, empty, fields.item_id);
    if (begun === undefined || begun.isDone || known.isDone) return written;
    if (begun.isWhole) return written;
    begun.isWhole = true;
    return written + this.#partRest(known, { list, begun }, whole) +
      this.#write(`${kindOfText(texts)}.done`, {
        ...this.#fields(known, fields),
        [`${list}_index`]: begun.index,
      });
  }

  #donePart(
    known: Item,
    { list, index }: { list: List; index: number },
    given: JsonObject,
  ): string {
    const part = fullPart(given);
    const { written, begun } = this.#beginPart(known, { list, index }, {
      ...part,
      ...emptied(part),
    });
    if (begun === undefined || begun.isDone || known.isDone) return written;
    const whole = text(part.text) ?? text(part.refusal) ?? "";
    const rest = this.#partRest(known, { list, begun }, whole);
    begun.isDone = true;
    Object.assign(begun.part, part);
    return written + rest + this.#write(`response.${PARTS[list]}_part.done`, {
      ...this.#fields(known, {}),
      [`${list}_index`]: begun.index,
      part: { ...part },
    });
  }

  #partRest(
    known: Item,
    { list, begun }: { list: List; begun: CarriedPart },
    whole: string,
  ): string {
    const field = typeof begun.part.refusal === "string" ? "refusal" : "text";
    const kind = kindOfText({ type: known.type, list, field });
    const rest = whole === "" ? "" : begun.progress.rest(whole) ?? "";
    if (rest === "" || kind === undefined) return "";
    begun.part[field] = `${text(begun.part[field]) ?? ""}${rest}`;
    return this.#write(`${kind}.delta`, {
      ...this.#fields(known, { delta: rest }),
      [`${list}_index`]: begun.index,
      ...(kind === "response.output_text" ? { logprobs: [] } : {}),
    });
  }

  #ownRest(known: Item, texts: TextEvents, whole: string, done?: JsonObject): string {
    const { state } = known;
    const kind = kindOfText(texts);
    if (kind === undefined) return "";
    const rest = whole === "" ? "" : state.progress.rest(whole) ?? "";
    if (rest !== "") state.item![texts.field] = `${text(state.item![texts.field]) ?? ""}${rest}`;
    return (rest === "" ? "" : this.#write(`${kind}.delta`, this.#fields(known, { delta: rest }))) +
      (done === undefined
        ? ""
        : this.#write(`${kind}.done`, this.#fields(known, named(known, done))));
  }

  /** Progress of a tool that runs at the upstream, annotations and the like. */
  #other(type: string, fields: JsonObject): string {
    const known = this.#items.find(fields, itemTypeOf(type));
    if (known.state.item === undefined || known.isDone) return "";
    return this.#write(type, this.#fields(known, fields));
  }
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
