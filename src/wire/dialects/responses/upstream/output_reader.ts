import { isObject, items, type JsonObject, type JsonValue, objects, text } from "../../json.ts";
import { citationOf, type ReplyEvent } from "../../neutral/conversation.ts";
import { calledImage, imageEvents } from "../../neutral/made_images.ts";
import { TextProgress } from "../../neutral/text_progress.ts";
import type { TextKind } from "./event_kinds.ts";
import { partsOf } from "../items.ts";
import { type OutputItem, type OutputStep, OutputWalk } from "./output_walk.ts";

/** What is kept of a part's text, or of a call's arguments; nothing of the words. */
interface ReadText {
  readonly progress: TextProgress;
  /** Whether it was repeated whole: a delta after it is none. */
  isEnded: boolean;
  /** Citations that were read of it. */
  cited: number;
  /** Where it begins in the whole reply's text. */
  start: number;
}

/** What is kept of an item until it ends. */
interface Progress {
  /** Which of two forms its reasoning comes in: the other says the same again. */
  form: "content" | "summary" | undefined;
  /** By their places. */
  readonly texts: Map<string, ReadText>;
  hasSaid: boolean;
  isSealed: boolean;
  /** Of a call. */
  name: string | undefined;
  state: "waiting" | "open" | "closed";
}

type Item = OutputItem<Progress>;

/** The place of a text in an item. */
interface Place {
  readonly kind: "text" | "refusal" | "content" | "summary";
  readonly index: number;
}

/**
 * Reads the output of a response as neutral events, whatever an upstream leaves out: a text may come in deltas, with the end
 * of its part or its item, or only with the whole response. Each is read once.
 */
export class OutputReader {
  hasRefused = false;
  hasCalled = false;
  readonly #walk = new OutputWalk<Progress>(() => ({
    form: undefined,
    texts: new Map(),
    hasSaid: false,
    isSealed: false,
    name: undefined,
    state: "waiting",
  }));
  /** Types of items of which one had text: another one is a paragraph of its own. */
  readonly #said = new Set<string>();
  #textChars = 0;

  /** Reads one event of a stream. */
  event(event: JsonObject): ReplyEvent[] {
    const step = this.#walk.step(event);
    if (step === undefined) return [];
    const { kind, item, given, index } = step;
    switch (kind.step) {
      case "item": {
        const events = this.#item(item, given, kind.isDone);
        item.isDone ||= kind.isDone;
        return events;
      }
      case "part":
        return kind.list === "summary"
          ? this.#whole(item, { kind: "summary", index }, text(given.text))
          : this.#part(item, given, index);
      case "text":
        return this.#text(step, kind.text);
      default: {
        const { annotation } = event;
        const isCitation = item.type === "message" && isObject(annotation);
        return isCitation ? this.#cite(item, index, [annotation], true) : [];
      }
    }
  }

  /** Reads a whole response: what its stream, if there was one, has not said. */
  response({ output, status }: JsonObject): ReplyEvent[] {
    const all = this.#walk.match(objects(output));
    return all.flatMap(([known, item], at) => {
      // whether its last call was cut off is not always said
      const mayBeHalf = status === "incomplete" && at === all.length - 1 &&
        isClientsCall(known) && item.status !== "completed";
      return this.#item(known, item, !mayBeHalf);
    });
  }

  #item(known: Item, item: JsonObject, isDone: boolean): ReplyEvent[] {
    switch (known.type) {
      case "message":
        return partsOf(item.content).flatMap((part, at) => this.#part(known, part, at));
      case "reasoning":
        return this.#reasoning(known, item, isDone);
      case "function_call":
      case "custom_tool_call":
        return this.#call(known, item, isDone && item.status !== "incomplete");
      case "image_generation_call": {
        const url = known.state.hasSaid || !isDone ? undefined : calledImage(item);
        known.state.hasSaid ||= url !== undefined;
        return url === undefined ? [] : imageEvents([url]);
      }
      default:
        return [];
    }
  }

  #reasoning(known: Item, item: JsonObject, isDone: boolean): ReplyEvent[] {
    const events = [
      ...partsOf(item.content, "reasoning_text").flatMap((part, at) => this.#part(known, part, at)),
      ...partsOf(item.summary, "summary_text").flatMap((part, index) =>
        this.#whole(known, { kind: "summary", index }, text(part.text))
      ),
    ];
    const seal = text(item.encrypted_content) || undefined;
    if (!isDone || seal === undefined || known.state.isSealed) return events;
    known.state.isSealed = true;
    return [...events, { type: "seal", seal }];
  }

  #part(known: Item, part: JsonObject, index: number): ReplyEvent[] {
    switch (part.type) {
      case "refusal":
        return this.#whole(known, { kind: "refusal", index }, text(part.refusal));
      case "reasoning_text":
        return this.#whole(known, { kind: "content", index }, text(part.text));
      default:
        return [
          ...this.#whole(known, { kind: "text", index }, text(part.text), part.logprobs),
          ...this.#cite(known, index, objects(part.annotations), false),
        ];
    }
  }

  /** Citations of a part: by themselves, or all of them once more at its end. */
  #cite(
    { state }: Item,
    index: number,
    annotations: readonly JsonObject[],
    isNew: boolean,
  ): ReplyEvent[] {
    const cited = textAt(state, placeOf({ kind: "text", index }));
    const more = isNew ? annotations : annotations.slice(cited.cited);
    cited.cited += more.length;
    const from = cited.start;
    return more.filter(({ type }) => type === "url_citation").flatMap(citationOf)
      .map((one) => ({ ...one, start: from + one.start, end: from + one.end }));
  }

  #text({ event, item, index }: OutputStep<Progress>, texts: TextKind): ReplyEvent[] {
    const delta = text(event.delta);
    if (texts.list === undefined) {
      if (!isClientsCall(item)) return []; // it runs at the upstream
      return event.type === `${texts.events}.delta`
        ? this.#arguments(item, delta ?? "", true)
        : this.#call(item, event, true);
    }
    const kind = texts.field === "refusal"
      ? "refusal"
      : texts.type === "message"
      ? "text"
      : texts.list;
    const place = placeOf({ kind, index });
    if (delta === undefined) {
      const whole = text(event[texts.field]);
      const events = this.#whole(item, { kind, index }, whole, event.logprobs);
      const read = item.state.texts.get(place);
      if (whole && read !== undefined) read.isEnded = true;
      return events;
    }
    if (item.isDone || item.state.texts.get(place)?.isEnded) return [];
    const progress = this.#progressOf(item, { kind, index }, delta);
    if (progress === undefined) return [];
    const events = this.#say(item, { kind, index }, delta, progress.isEmpty, event.logprobs);
    progress.add(delta);
    return events;
  }

  /** What a whole text says beyond its deltas. */
  #whole(item: Item, place: Place, whole = "", logprobs?: JsonValue): ReplyEvent[] {
    const progress = this.#progressOf(item, place, whole);
    if (progress === undefined) return [];
    const isFirst = progress.isEmpty;
    const own = isFirst ? logprobs : undefined; // which of them are the rest's nobody knows
    return this.#say(item, place, progress.rest(whole) ?? "", isFirst, own);
  }

  /** Undefined for a text that says nothing, or nothing new. */
  #progressOf({ state }: Item, place: Place, said: string): TextProgress | undefined {
    const { kind } = place;
    if (said === "") return undefined;
    if (kind === "content" || kind === "summary") {
      state.form ??= kind;
      if (state.form !== kind) return undefined;
    }
    return textAt(state, placeOf(place)).progress;
  }

  #say(
    { type, state }: Item,
    place: Place,
    said: string,
    isFirst: boolean,
    logprobs?: JsonValue,
  ): ReplyEvent[] {
    if (said === "") return [];
    const { kind } = place;
    if (kind === "refusal") this.hasRefused = true;
    const isParagraph = state.hasSaid
      ? kind === "summary" && isFirst
      : this.#said.has(kind === "refusal" ? kind : type);
    state.hasSaid = true;
    this.#said.add(kind === "refusal" ? kind : type);
    const all = isParagraph ? `\n\n${said}` : said;
    if (type === "reasoning") return [{ type, text: all }];
    if (kind === "refusal") return [{ type: kind, text: all }];
    if (isFirst) {
      textAt(state, placeOf(place)).start = this.#textChars + all.length - said.length;
    }
    this.#textChars += all.length;
    const own = items(logprobs);
    return [{ type: "text", text: all, ...(own.length === 0 ? {} : { logprobs: own }) }];
  }

  /** The id and the name of a call once, and what its whole arguments say beyond their deltas. */
  #call(known: Item, call: JsonObject, isDone: boolean): ReplyEvent[] {
    const { state } = known;
    const events: ReplyEvent[] = [];
    const name = text(call.name) || undefined;
    if (state.name === undefined && name !== undefined) {
      state.name = name;
      this.hasCalled = true;
      const id = text(call.call_id) || undefined;
      events.push({ type: "call", key: keyOf(known), id, name, args: "" });
    }
    const whole = known.type === "function_call" ? call.arguments : call.input;
    const said = isObject(whole) ? JSON.stringify(whole) : text(whole) ?? "";
    const read = textAt(state, "args");
    if (said !== "" && isDone) read.isEnded = true;
    const rest = said === "" ? "" : read.progress.rest(said) ?? "";
    events.push(...this.#arguments(known, rest, false));
    const isOpen = known.type === "custom_tool_call" && state.state !== "closed";
    if (isDone && isOpen && state.name !== undefined) {
      const args = state.state === "open" ? '"}' : '{"input":""}';
      state.state = "closed";
      events.push({ type: "call", key: keyOf(known), id: undefined, name: undefined, args });
    }
    return events;
  }

  /** A piece of a call's arguments; the input of a custom tool is the one argument of a function here. */
  #arguments(known: Item, said: string, isDelta: boolean): ReplyEvent[] {
    const { state } = known;
    if (said === "" || state.state === "closed") return [];
    const read = textAt(state, "args");
    if (isDelta && (known.isDone || read.isEnded)) return [];
    if (isDelta) read.progress.add(said);
    let args = said;
    if (known.type === "custom_tool_call") {
      args = (state.state === "waiting" ? '{"input":"' : "") + JSON.stringify(said).slice(1, -1);
    }
    state.state = "open";
    return [{ type: "call", key: keyOf(known), id: undefined, name: undefined, args }];
  }
}

/** Parts of one item. */
const MAX_PARTS = 1_024;

function placeOf({ kind, index }: Place): string {
  return `${kind} ${index}`;
}

function textAt({ texts }: Progress, place: string): ReadText {
  let read = texts.get(place);
  if (read === undefined) {
    read = { progress: new TextProgress(), isEnded: false, cited: 0, start: 0 };
    if (texts.size < MAX_PARTS) texts.set(place, read);
  }
  return read;
}

function isClientsCall({ type }: Item): boolean {
  return type === "function_call" || type === "custom_tool_call";
}

function keyOf({ number }: Item): string {
  return `call${number}`;
}
