import {
  entryOf,
  isObject,
  type JsonObject,
  type JsonValue,
  objects,
  text,
  withoutNulls,
} from "../../json.ts";
import { isItemId } from "../../meter.ts";
import { citationOf, writeCitation } from "../../neutral/conversation.ts";
import { JsonProgress } from "../../neutral/json_progress.ts";
import { fullLogprobs, partsOf, typeOf } from "../items.ts";

/** Kinds of items whose fields are known. Fields of others stay as they came. */
const CALL_TEXTS: Readonly<Record<string, "arguments" | "input">> = {
  function_call: "arguments",
  custom_tool_call: "input",
};

/** How ids of items begin that have none. */
const PREFIXES: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  custom_tool_call: "ctc",
};

/** Calls that the client runs. */
const CLIENTS_CALLS: ReadonlySet<string> = new Set([
  ...Object.keys(CALL_TEXTS),
  "tool_search_call",
  "shell_call",
  "local_shell_call",
  "apply_patch_call",
  "computer_call",
]);

/** How a response ends that does not fail. */
export type ResponseEnd = "completed" | "incomplete";

/** What the last event of a response says of its end; some upstreams say of a cut one that it is completed, or the other way round. */
export function responseEnd({ type, response }: JsonObject): ResponseEnd {
  const isCut = type === "response.incomplete" ||
    isObject(response) && response.status === "incomplete";
  return isCut ? "incomplete" : "completed";
}

/** Whether an item is a call that may have been cut off: one that has not ended, or a function's whose arguments are incomplete JSON. */
export function isCutOff(item: JsonObject): boolean {
  const type = typeOf(item);
  if (!CLIENTS_CALLS.has(type)) return false;
  return item.status === "incomplete" || item.status === "in_progress" ||
    type === "function_call" && !isWhole(item.arguments);
}

/** An item as it is where the response ends; whether it is a call that was cut off. A call of a response that is complete is, too. */
export function itemAtEnd(
  item: JsonObject,
  end: ResponseEnd,
): { readonly item: JsonObject; readonly isCut: boolean } {
  const isCut = end === "incomplete" && isCutOff(item);
  const isCall = Object.hasOwn(CALL_TEXTS, typeOf(item));
  return { isCut, item: isCut || isCall ? { ...item, status: isCut ? end : "completed" } : item };
}

/** The status of an item that its upstream has not ended, where the response ends: a function can be called once its arguments are whole. */
export function statusAtEnd(item: JsonObject, end: ResponseEnd): ResponseEnd {
  return typeOf(item) === "function_call" && isWhole(item.arguments) ? "completed" : end;
}

/** Whether arguments are a whole JSON value. */
export function isWhole(args: JsonValue | undefined): boolean {
  const progress = new JsonProgress();
  progress.add(text(args) ?? "");
  return progress.complete;
}

/** The items of a response, of which only the last one may have been cut off without a word of it. */
export function withStatuses(output: readonly JsonObject[]): JsonObject[] {
  return output.map((item, at) =>
    at < output.length - 1 && Object.hasOwn(CALL_TEXTS, typeOf(item)) && !text(item.status)
      ? { ...item, status: "completed" }
      : item
  );
}

/**
 * An output item with what clients' schemas demand, where its upstream has left it out or says null.
 *
 * @param status Of an item that has none: whether it goes on, or how the response ended.
 */
export function fullItem(given: JsonObject, status: "in_progress" | ResponseEnd): JsonObject {
  const type = typeOf(given);
  if (type === "message") {
    const { role: _, content, ...rest } = withoutNulls(given);
    const parts = partsOf(content).map((part) => fullPart(part, "output_text"));
    const own = status === "in_progress" ? status : "completed"; // which of several was cut off is not known
    return { status: own, ...rest, type, role: "assistant", content: parts };
  }
  if (type === "reasoning") {
    const { summary, content, ...rest } = withoutNulls(given);
    return {
      ...rest,
      type,
      summary: partsOf(summary, "summary_text").map((part) => fullPart(part, "summary_text")),
      ...(content === undefined ? {} : {
        content: partsOf(content, "reasoning_text").map((part) => fullPart(part, "reasoning_text")),
      }),
    };
  }
  const field = entryOf(CALL_TEXTS, type);
  if (field === undefined) return { ...given, type };
  const { [field]: said, ...rest } = withoutNulls(given);
  const written = isObject(said) ? JSON.stringify(said) : text(said) ?? "";
  const own = status === "incomplete" ? statusAtEnd({ type, arguments: written }, status) : status;
  const isEnded = (text(rest.status) ?? own) === "completed";
  const isNothing = written === "" && type === "function_call" && isEnded; // clients parse arguments
  return { status: own, ...rest, type, [field]: isNothing ? "{}" : written };
}

/**
 * A part of an item, likewise.
 *
 * @param textType Type of the texts in its list: some upstreams leave it out, or call it `text`.
 */
export function fullPart(given: JsonObject, textType: string): JsonObject {
  const part = withoutNulls(given);
  const own = text(part.type) ?? (typeof part.refusal === "string" ? "refusal" : "text");
  const type = own === "text" ? textType : own;
  if (type === "refusal") return { ...part, type, refusal: text(part.refusal) ?? "" };
  if (!/^(?:output|summary|reasoning)_text$/.test(type)) return part;
  const annotations = objects(part.annotations).map(fullAnnotation);
  return {
    ...part,
    type,
    text: text(part.text) ?? "",
    ...(type === "output_text" ? { annotations } : {}),
    ...(part.logprobs === undefined ? {} : { logprobs: fullLogprobs(part.logprobs) }),
  };
}

/** An annotation of a text, likewise: the AI SDK rejects a whole reply with a citation that has no title or no place. */
export function fullAnnotation(given: JsonObject): JsonObject {
  if (given.type !== "url_citation") return given;
  const [cited] = citationOf(given);
  return cited === undefined ? given : { ...withoutNulls(given), ...writeCitation(cited) };
}

/** Whether an item is a call that a client could not run, or could not return the result of. */
export function isUnnamedCall(item: JsonObject, field: "name" | "call_id"): boolean {
  return Object.hasOwn(CALL_TEXTS, typeOf(item)) && !text(item[field]);
}

/**
 * Characters of an id that no other reply's items have. Some upstreams begin to count again in each reply, and some draw six digits;
 * clients refer to items by their ids, and upstreams reject two that have one.
 */
const UNIQUE_CHARS = 20;

/** Names the items of one reply that their upstream has not named, or named like another one. */
export class CarriedNames {
  readonly #idPart: string;
  readonly #ids = new Set<string>();
  readonly #callIds = new Set<string>();

  /** @param idPart What the ids that are made here have in common. */
  constructor(idPart: string) {
    this.#idPart = idPart;
  }

  /** The item with its id and, if it is a call, an id for its result. Call it once for each item. */
  name(item: JsonObject, number: number): JsonObject {
    const type = typeOf(item);
    const own = text(item.id) ?? "";
    // what is no id is not repeated with each event; SDKs throw when two items have one
    const isLegal = isItemId(own);
    const isOwn = isLegal && own.length >= UNIQUE_CHARS && !this.#ids.has(own);
    const prefix = entryOf(PREFIXES, type) ?? (isLegal ? own.slice(0, own.indexOf("_")) : "item");
    const id = isOwn ? own : `${prefix}_${this.#idPart}_${number}`;
    this.#ids.add(id);
    if (!Object.hasOwn(CALL_TEXTS, type)) return { ...item, id };
    return { ...item, id, call_id: this.#callId(item.call_id, number) };
  }

  /** SDKs throw when two calls of a reply have one id, and could not tell their results apart. */
  #callId(own: JsonValue | undefined, number: number): string {
    const id = text(own) || `call_${this.#idPart}_${number}`;
    const unique = this.#callIds.has(id) ? `${id.slice(0, 48)}_again${number}` : id;
    this.#callIds.add(unique);
    return unique;
  }
}
