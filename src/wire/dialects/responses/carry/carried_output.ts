import { isObject, items, type JsonObject, text } from "../../json.ts";
import {
  CarriedNames,
  fullAnnotation,
  fullItem,
  isCutOff,
  isUnnamedCall,
  itemAtEnd,
  type ResponseEnd,
  statusAtEnd,
} from "./carried_item.ts";
import {
  type CarriedItem,
  carriedText,
  CarriedTexts,
  emptied,
  OWN_TEXTS,
  type WriteEvent,
} from "./carried_texts.ts";
import { type OutputItem, type OutputStep, OutputWalk } from "../upstream/output_walk.ts";

type Item = OutputItem<CarriedItem>;

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
  readonly #texts: CarriedTexts;
  readonly #seal: (item: JsonObject) => JsonObject;
  readonly #show: (item: JsonObject) => JsonObject;

  /**
   * @param options.idPart Basis of the ids of items that have none.
   * @param options.seal Seals what the upstream sealed in an item that is complete.
   * @param options.show Makes of a sealed item the one that the client gets.
   */
  constructor(
    { idPart, write, seal, show }: {
      idPart: string;
      write: WriteEvent;
      seal: (item: JsonObject) => JsonObject;
      show: (item: JsonObject) => JsonObject;
    },
  ) {
    this.#names = new CarriedNames(idPart);
    this.#write = write;
    this.#texts = new CarriedTexts({
      write,
      beginItem: (known, id) => this.#beginMissing(known, id),
    });
    this.#seal = seal;
    this.#show = show;
  }

  /** The items so far, in the order in which they were begun. */
  get items(): JsonObject[] {
    return this.#all.flatMap(({ state: { item } }) => item === undefined ? [] : [this.#show(item)]);
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
          ? this.#texts.endPart(known, place, given)
          : this.#texts.beginPart(known, place, given);
      }
      case "text":
        return this.#texts.text(known, kind.text, { event, index });
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
    const written =
      this.#begin(known, "status" in item ? { ...item, status: "in_progress" } : item) +
      this.#texts.endAll(known, item);
    known.isDone = true;
    const said: JsonObject = { ...item, id: state.place!.item_id };
    for (const name of ["name", "call_id"]) {
      if (state.item?.[name] !== undefined) said[name] = state.item[name];
    }
    for (const field of OWN_TEXTS) {
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
      item: this.#show(state.item),
    });
  }
}

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

function withAnnotation(event: JsonObject): JsonObject {
  const { annotation } = event;
  return isObject(annotation) ? { ...event, annotation: fullAnnotation(annotation) } : event;
}
