import { isObject, type JsonObject, text } from "../../json.ts";
import { tooMuch } from "../../upstream_error.ts";
import { EVENT_KINDS, type EventKind } from "./event_kinds.ts";
import { typeOf } from "../items.ts";

/** Items of one reply; no model writes more. */
const MAX_ITEMS = 1_024;

/** @throws {Refusal} `upstream_unavailable` for more items than state can be kept for. */
export function checkItemCount(count: number): void {
  if (count <= MAX_ITEMS) return;
  throw tooMuch(`The upstream sent more than ${MAX_ITEMS} output items.`);
}

/** An output item of a reply, and what is kept of it. */
export interface OutputItem<T> {
  readonly number: number;
  readonly type: string;
  readonly state: T;
  readonly id: string | undefined;
  readonly index: number | undefined;
  /** Whether it has ended. What comes without a name, or in its place by another one, belongs to the next. */
  isDone: boolean;
}

/** An event about the output, and what it is about. */
export interface OutputStep<T> {
  readonly event: JsonObject;
  readonly kind: EventKind;
  readonly item: OutputItem<T>;
  /** The item or the part that it brings; empty for other events. */
  readonly given: JsonObject;
  /** The place of the part in its list, as the event names it. */
  readonly index: number;
}

const NOTHING: JsonObject = {};

/**
 * Walks the output of a reply: what each event of its stream is about, and each item of the whole response.
 *
 * Items are told apart by their ids and, as some upstreams give an item another id in each event, by their places.
 */
export class OutputWalk<T> {
  readonly #make: (number: number) => T;
  readonly #all: OutputItem<T>[] = [];
  readonly #byId = new Map<string, OutputItem<T>>();
  readonly #byIndex = new Map<number, OutputItem<T>>();

  /** @param make Makes what is kept of an item, given its number. */
  constructor(make: (number: number) => T) {
    this.#make = make;
  }

  /** What an event is about; undefined for one that is not about the output, or lacks what it should bring. */
  step(event: JsonObject): OutputStep<T> | undefined {
    const kind = EVENT_KINDS.get(event.type);
    switch (kind?.step) {
      case "item": {
        const { item: given } = event;
        if (!isObject(given)) return undefined;
        const item = kind.isDone
          ? this.#find(event, typeOf(given), text(given.id) || undefined)
          : this.#begin(event, given);
        return { event, kind, item, given, index: 0 };
      }
      case "part": {
        const { part: given } = event;
        if (!isObject(given)) return undefined;
        const isReasoning = kind.list === "summary" || given.type === "reasoning_text";
        const item = this.#find(event, isReasoning ? "reasoning" : "message");
        return { event, kind, item, given, index: partIndexOf(event, kind.list) };
      }
      case "text":
      case "other": {
        const { type, list } = kind.step === "text" ? kind.text : { ...kind, list: undefined };
        // tools that run at the upstream are about nothing before they begin
        const item = kind.isHosted ? this.#known(event, type) : this.#find(event, type);
        const index = partIndexOf(event, list);
        return item && { event, kind, item, given: NOTHING, index };
      }
      default:
        return undefined;
    }
  }

  /** The item that an event begins. */
  #begin(event: JsonObject, item: JsonObject): OutputItem<T> {
    const id = text(item.id) || undefined;
    const type = typeOf(item);
    const index = indexOf(event);
    const known = id === undefined ? undefined : this.#byId.get(id);
    // some upstreams give all items one id
    const isOther = known?.index !== undefined && index !== undefined && known.index !== index;
    return known?.type === type && !isOther ? known : this.#add(type, id, index);
  }

  /** The item of any other event. */
  #find(event: JsonObject, type: string, id = text(event.item_id) || undefined): OutputItem<T> {
    return this.#known(event, type, id) ?? this.#add(type, id, indexOf(event));
  }

  #known(
    event: JsonObject,
    type: string,
    id = text(event.item_id) || undefined,
  ): OutputItem<T> | undefined {
    const index = indexOf(event);
    const byId = id === undefined ? undefined : this.#byId.get(id);
    const byIndex = index === undefined ? undefined : this.#byIndex.get(index);
    if (byIndex?.type === type && byIndex.id === id) return byIndex;
    if (byId?.type === type) return byId;
    const isNext = byIndex?.isDone === true && id !== undefined && byIndex.id !== undefined;
    if (byIndex?.type === type && !isNext) return byIndex;
    if (id !== undefined || index !== undefined) return undefined;
    const last = this.#all.findLast((item) => item.type === type);
    return last?.isDone ? undefined : last;
  }

  /** The items of a whole response, which may leave some out: by their ids, else of each type in their order. */
  match(output: readonly JsonObject[]): (readonly [OutputItem<T>, JsonObject])[] {
    const before = [...this.#all];
    const taken = new Set<OutputItem<T>>();
    const take = (is: (one: OutputItem<T>) => boolean) => {
      const found = before.find((one) => !taken.has(one) && is(one));
      if (found !== undefined) taken.add(found);
      return found;
    };
    const named = output.map((item) => {
      const id = text(item.id) || undefined;
      return id === undefined || !this.#byId.has(id)
        ? undefined
        : take((one) => one.id === id && one.type === typeOf(item));
    });
    return output.map((item, at) => {
      const type = typeOf(item);
      const known = named[at] ?? take((one) => one.type === type);
      return [known ?? this.#add(type, text(item.id) || undefined, undefined), item] as const;
    });
  }

  #add(type: string, id: string | undefined, index: number | undefined): OutputItem<T> {
    const number = this.#all.length;
    checkItemCount(number + 1);
    const item = { number, type, state: this.#make(number), id, index, isDone: false };
    this.#all.push(item);
    if (id !== undefined) this.#byId.set(id, item);
    if (index !== undefined) this.#byIndex.set(index, item);
    return item;
  }
}

function indexOf({ output_index: index }: JsonObject): number | undefined {
  return typeof index === "number" ? index : undefined;
}

function partIndexOf(event: JsonObject, list: "content" | "summary" | undefined): number {
  const index = list === "summary" ? event.summary_index : event.content_index;
  return typeof index === "number" ? index : 0;
}
