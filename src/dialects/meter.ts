import { TokenCounter } from "../tokens/mod.ts";
import type { ImageView } from "./bridge.ts";
import { documentTokens } from "./document_tokens.ts";
import { imageTokens } from "./image_tokens.ts";
import { isObject, type JsonObject, type JsonValue, objects, text } from "./json.ts";

/** Tokens that frame a request, and each of its messages. */
const PER_REQUEST = 3;
const PER_MESSAGE = 4;

/** Fields whose value is an id, a kind or a marker, as long as it is short enough to be one. */
const MARKERS = new Set([
  "cache_control",
  "call_id",
  "detail",
  "file_id",
  "finish_reason",
  "format",
  "id",
  "media_type",
  "model",
  "native_finish_reason",
  "object",
  "phase",
  "role",
  "status",
  "stop_reason",
  "stop_sequence",
  "tool_call_id",
  "tool_use_id",
  "type",
]);
const MARKER_CHARS = 64;
/** Keys are names of the wire format; longer ones are text. */
const KEY_CHARS = 40;
/** A field outside of the conversation that is shorter sets something, and says nothing. */
const SETTING_CHARS = 64;

/** Sealed texts, which only their upstream can read: base64 of the text and some more. */
const SEALED = new Set(["signature", "encrypted_content", "data"]);
const SEALED_CHARS_PER_TOKEN = 5;
const SEALED_KINDS = new Set(["redacted_thinking", "thinking", "reasoning", "reasoning.encrypted"]);

/** Bytes of sound that stand for a token: 10 tokens a second of speech at 32 kbit/s. */
const SOUND_BYTES_PER_TOKEN = 400;

/** Fields of a choice that repeat, or describe, what is counted elsewhere. */
const REPEATED = new Set([
  "logprobs",
  "usage",
  "index",
  "created",
  "token_ids",
  "prompt_token_ids",
]);
/** The same reasoning by different names; upstreams send several of them at once. */
const REASONING = ["reasoning_content", "reasoning", "reasoning_details"];

/**
 * Counts the tokens of JSON as it goes over the wire. It walks everything: each text counts unless it is known
 * to be none, so a field that nobody has heard of yet is counted, too. Media have rules of their own.
 *
 * The same for a body that is sent and a response that is delivered, whole or in pieces.
 */
export class Meter {
  readonly #counter = new TokenCounter();
  /** Tokens of what is no text. */
  #more = 0;
  /** Fields that images were found in: those are counted by their size. */
  readonly #images: ReadonlySet<JsonValue>;

  constructor(images: ReadonlySet<JsonValue> = NO_IMAGES) {
    this.#images = images;
  }

  /** Tokens so far. */
  get tokens(): number {
    return this.#counter.tokens + this.#more;
  }

  /** Adds a text. */
  add(said: string): void {
    this.#counter.add(said);
  }

  /** Adds tokens of what is no text. */
  addTokens(tokens: number): void {
    this.#more += tokens;
  }

  /** Adds a JSON value by its text, keys and numbers included, as tools and schemas are put into a prompt. */
  addJson(value: JsonValue): void {
    this.#counter.add(`${JSON.stringify(value)}\n`);
  }

  /** Adds every text in a message, a content part or a part of a response. Returns whether there was one. */
  addTexts(value: JsonValue | undefined, key = "", separator = "\n"): boolean {
    if (typeof value === "string") return this.#addText(value, key, separator);
    if (typeof value === "number" || typeof value === "boolean") {
      if (key === "") this.#counter.add(`${value}${separator}`); // an element, as of a list of tokens
      return false;
    }
    if (Array.isArray(value)) {
      let any = false;
      for (const one of value) any = this.addTexts(one, "", separator) || any;
      return any;
    }
    return isObject(value) && this.#addObject(value, separator);
  }

  #addText(value: string, key: string, separator: string): boolean {
    if (value === "" || MARKERS.has(key) && value.length <= MARKER_CHARS) return false;
    this.#counter.add(`${value}${separator}`);
    return true;
  }

  #addObject(value: JsonObject, separator: string): boolean {
    const isImage = this.#images.has(value);
    const type = text(value.type) ?? "";
    const reasoning = reasoningOf(value);
    let any = false;
    for (const key in value) {
      const part = value[key];
      if (part === undefined || part === null || REPEATED.has(key)) continue;
      if (key.length > KEY_CHARS) this.#counter.add(key);
      if (isImage && (key === "url" || key === "data")) continue;
      if (this.#isImageText(part, key, value)) continue;
      if (reasoning !== undefined && key !== reasoning && REASONING.includes(key)) continue;
      if (type === "tool_use" && key === "input" && isObject(part)) {
        any = Object.keys(part).length > 0 || any;
        this.addJson(part);
      } else if (typeof part === "string" && this.#addMedium(part, key, type)) {
        any = any || type !== "thinking";
      } else {
        any = this.addTexts(part, key, separator) || any;
      }
    }
    return any;
  }

  /** A chat part may hold its image's address as a plain text. */
  #isImageText(part: JsonValue, key: string, parent: JsonObject): boolean {
    return key === "image_url" && typeof part === "string" && this.#images.has(parent);
  }

  /** Counts documents, sound and sealed texts. Returns whether the field is one of them. */
  #addMedium(part: string, key: string, type: string): boolean {
    const isDocument = key === "file_data" ||
      (key === "data" || key === "url") && (type === "base64" || type === "url");
    if (isDocument && isBase64(part.replace(/^\s*data:[^,]{0,200};base64,/i, ""))) {
      this.#more += documentTokens(part);
      return true;
    }
    if (isDocument && /^\s*https?:\S{0,2000}$/i.test(part)) {
      this.#more += documentTokens(part);
      return true;
    }
    if (key === "data" && type === "" && isBase64(part)) {
      this.#more += Math.ceil(part.length * 0.75 / SOUND_BYTES_PER_TOKEN);
      return true;
    }
    if (!SEALED.has(key) || !SEALED_KINDS.has(type) || !isBase64(part)) return false;
    this.#more += Math.ceil(part.length / SEALED_CHARS_PER_TOKEN);
    return true;
  }
}

const NO_IMAGES: ReadonlySet<JsonValue> = new Set();

/** Of several fields with the same reasoning, the longest. */
function reasoningOf(value: JsonObject): string | undefined {
  const there = REASONING.filter((key) => (value[key] ?? undefined) !== undefined);
  if (there.length < 2) return undefined;
  const size = (key: string) => {
    const said = value[key];
    return typeof said === "string" ? said.length : JSON.stringify(said).length - 60;
  };
  return there.reduce((longest, key) => size(key) > size(longest) ? key : longest);
}

/**
 * Whether a text is nothing but base64, of either alphabet. Asked before anything is decoded: the platform's
 * decoder takes minutes for megabytes of other characters (Deno 2.9).
 */
function isBase64(value: string): boolean {
  return value !== "" && !/[^A-Za-z0-9+/=_\-\s]/.test(value) && !/[A-Za-z] [A-Za-z]/.test(value);
}

/**
 * Input tokens of a request's body, in either dialect: messages and instructions by their texts, everything else
 * (tools, schemas, what is not known) by its JSON.
 *
 * @param images The body's images, which are counted by their sizes.
 */
export function meterInput(body: JsonObject, images: readonly ImageView[]): number {
  const meter = new Meter(new Set(images.map(({ param }) => holderOf(body, param))));
  meter.addTokens(PER_REQUEST + imageTokens(images));
  for (const key in body) {
    const value = body[key];
    if (value === undefined || value === null) continue;
    if (key.length > KEY_CHARS) meter.add(key);
    if (key === "messages" || key === "system") {
      meter.addTexts(value);
    } else if (key === "tools" || key === "functions") {
      for (const tool of Array.isArray(value) ? value : [value]) meter.addJson(tool);
    } else if (typeof value === "string") {
      if (value.length > SETTING_CHARS) meter.add(`${value}\n`);
    } else if (typeof value === "object") {
      const json = JSON.stringify(value);
      if (json.length > SETTING_CHARS) meter.add(`${json}\n`);
    }
  }
  meter.addTokens(PER_MESSAGE * objects(body.messages).length);
  return meter.tokens;
}

/** What holds an image: the object of its field, or the part around it where the field is a plain text. */
function holderOf(body: JsonObject, param: string): JsonValue {
  let holder: JsonValue = body;
  let value: JsonValue | undefined = body;
  for (const step of param.match(/[^.[\]]+/g) ?? []) {
    if (Array.isArray(value)) value = value[Number(step)];
    else if (isObject(value)) value = value[step];
    if (isObject(value)) holder = value;
  }
  return holder;
}

/** Counts what a choice of a chat response says: a delta or a whole message. Returns whether it says anything. */
export function meterChoice(meter: Meter, choice: JsonObject): boolean {
  return meter.addTexts(choice, "", "");
}

/** Counts what an event of a messages response says. Returns whether it says anything. */
export function meterEvent(meter: Meter, event: JsonObject): boolean {
  if (event.type === "ping") return false;
  if (event.type === "message_start") {
    return isObject(event.message) && meter.addTexts(event.message.content, "", "");
  }
  const { delta } = event;
  // a signature seals what was said before it
  if (
    isObject(delta) && delta.type === "signature_delta" && isBase64(text(delta.signature) ?? "")
  ) {
    return false;
  }
  return meter.addTexts(event, "", "");
}
