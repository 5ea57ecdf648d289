import { Refusal } from "../../refusal.ts";
import { type JsonObject, text } from "../json.ts";

/** Items of one reply; no model writes more. */
const MAX_ITEMS = 1_024;

/** @throws {Refusal} `upstream_unavailable` for more items than state can be kept for. */
export function checkItemCount(count: number): void {
  if (count <= MAX_ITEMS) return;
  const message = `The upstream sent more than ${MAX_ITEMS} output items.`;
  throw new Refusal("upstream_unavailable", message);
}

/** An output item of a reply, and what is kept of it. */
export interface OutputItem<T> {
  readonly number: number;
  readonly type: string;
  readonly state: T;
}

/**
 * Tells the output items of a reply apart: by their ids and, as some upstreams give an item another id in each event, by
 * their places.
 */
export class OutputItems<T> {
  readonly #make: (number: number) => T;
  readonly #all: OutputItem<T>[] = [];
  readonly #byId = new Map<string, OutputItem<T>>();
  readonly #byIndex = new Map<number, OutputItem<T>>();

  /** @param make Makes what is kept of an item, given its number. */
  constructor(make: (number: number) => T) {
    this.#make = make;
  }

  /** The item that an event begins. */
  begin(event: JsonObject, item: JsonObject): OutputItem<T> {
    const id = text(item.id) || undefined;
    const type = text(item.type) ?? "";
    const known = id === undefined ? undefined : this.#byId.get(id);
    return known?.type === type ? known : this.#add(type, id, indexOf(event));
  }

  /** The item of any other event. */
  find(event: JsonObject, type: string, id = text(event.item_id) || undefined): OutputItem<T> {
    const index = indexOf(event);
    const byId = id === undefined ? undefined : this.#byId.get(id);
    if (byId?.type === type) return byId;
    const byIndex = index === undefined ? undefined : this.#byIndex.get(index);
    if (byIndex?.type === type) return byIndex;
    const last = this.#all.findLast((item) => item.type === type);
    const isNamed = id !== undefined || index !== undefined;
    return isNamed || last === undefined ? this.#add(type, id, index) : last;
  }

  /** The items of a whole response, which may leave some out: of each type in their order. */
  match(output: readonly JsonObject[]): (readonly [OutputItem<T>, JsonObject])[] {
    const before = [...this.#all];
    const counts = new Map<string, number>();
    return output.map((item) => {
      const type = text(item.type) ?? "";
      const at = counts.get(type) ?? 0;
      counts.set(type, at + 1);
      const id = text(item.id) || undefined;
      const byId = id === undefined ? undefined : this.#byId.get(id);
      const known = byId?.type === type ? byId : before.filter((one) => one.type === type)[at];
      return [known ?? this.#add(type, id, undefined), item] as const;
    });
  }

  #add(type: string, id: string | undefined, index: number | undefined): OutputItem<T> {
    const number = this.#all.length;
    checkItemCount(number + 1);
    const item = { number, type, state: this.#make(number) };
    this.#all.push(item);
    if (id !== undefined) this.#byId.set(id, item);
    if (index !== undefined) this.#byIndex.set(index, item);
    return item;
  }
}

function indexOf({ output_index: index }: JsonObject): number | undefined {
  return typeof index === "number" ? index : undefined;
}
