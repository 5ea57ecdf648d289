import { isLargeNumber } from "../json/mod.ts";
import { TextQueue, TokenCounter } from "../tokens/mod.ts";
import type { ParsedRequest } from "./dialect.ts";
import { documentTokens } from "./document_tokens.ts";
import { isBase64, isPicture, isSealedText } from "./encoded_text.ts";
import { imageTokens } from "./image_tokens.ts";
import { isObject, type JsonObject, type JsonValue, objects, text } from "./json.ts";

/** Keys that are the wire formats' own. Other keys are counted, as text that somebody put there. */
const KEYS = new Set(
  ("annotations arguments audio cache_control call_id choices citations cited_text content content_block context " +
    "created data delta detail document_index encrypted_content end_char_index error expires_at file file_data " +
    "file_id filename finish_reason format function function_call id image_url images index input input_audio " +
    "is_error logprobs matched_stop media_type message model name native_finish_reason object partial_json phase " +
    "reasoning reasoning_content reasoning_details reasoning_text redacted refusal role signature source start_char_index " +
    "status stop_reason stop_sequence summary text thinking title tool_call_id tool_calls tool_use_id transcript " +
    "ttl type url usage " +
    // of responses
    "background billing cached_tokens client_metadata frequency_penalty max_output_tokens max_tool_calls metadata " +
    "presence_penalty previous_response_id prompt_cache_key prompt_cache_retention strict temperature top_p verbosity " +
    "description parameters effort completed_at content_index created_at error file_url format incomplete_details " +
    "input_text input_tokens input_tokens_details instructions item item_id namespace output output_index output_text " +
    "output_tokens output_tokens_details parallel_tool_calls part reason reasoning_tokens response safety_identifier " +
    "sequence_number service_tier store summary_index tool_choice tools top_logprobs total_tokens truncation")
    .split(" "),
);

/** Keys whose values may be of the wire formats' own. Under any other key a text is text, whatever word it is. */
const MARKERS = new Set(
  ("type role status detail media_type format effort phase ttl verbosity finish_reason native_finish_reason stop_reason " +
    "truncation service_tier object execution tool_choice mode").split(" "),
);

/** Values of the wire formats' own: kinds, roles and the like. Any other text counts. */
const VALUES = new Set(
  ("1h 5m assistant auto base64 citations_delta content_block_delta content_block_start content_block_stop " +
    "content_filter custom custom_tool_call developer document end_turn ephemeral file function function_call " +
    "high image image_url input_audio input_json_delta length low max_tokens message message_delta message_start " +
    "message_stop mp3 pause_turn pdf ping reasoning.encrypted reasoning.summary reasoning.text redacted_thinking " +
    "refusal search_result signature_delta stop stop_sequence system text text_delta thinking thinking_delta tool " +
    "tool_calls tool_result tool_use url user wav application/pdf image/gif image/jpeg image/png image/webp " +
    "text/plain " +
    // of responses
    "additional_tools commentary compaction compaction_trigger completed custom_tool_call_output default disabled final_answer " +
    "function_call_output in_progress incomplete input_file input_image input_text item_reference max_output_tokens medium " +
    "minimal none output_text reasoning reasoning_text response summary_text tool_search_call tool_search_output")
    .split(" "),
);

/** Keys whose objects and lists are messages, their parts and what describes those. Under others everything counts as JSON. */
const CONTAINERS = new Set(
  ("messages content input system instructions tool_calls function_call function custom source image_url input_audio audio " +
    "file reasoning reasoning_details summary output annotations citations cache_control message item items thinking parts " +
    "results images logprobs allowed_tools").split(" "),
);

/** Kinds of parts whose size can be counted here, in any dialect. */
export const COUNTED_KINDS: ReadonlySet<string> = new Set(
  ("text input_text output_text refusal thinking redacted_thinking reasoning reasoning_text summary_text tool_use " +
    "tool_result tool_reference function function_call function_call_output custom custom_tool_call " +
    "custom_tool_call_output message compaction item_reference ephemeral tool_search_call tool_search_output " +
    "additional_tools namespace tool_search reasoning.text reasoning.summary reasoning.encrypted search_result")
    .split(" "),
);

/** Sealed texts, which only their upstream can read: base64 of the text and some more. */
export const SEALED_CHARS_PER_TOKEN = 5;

/** Bytes of sound that stand for a token: 10 tokens a second of speech at 32 kbit/s. */
const SOUND_BYTES_PER_TOKEN = 400;
/** The least: 32 tokens a second (Gemini) of speech at 6 kbit/s, which Opus goes down to. */
const MIN_SOUND_BYTES_PER_TOKEN = 24;

/** The same reasoning by different names; upstreams send several of them at once. */
const REASONING = ["reasoning_content", "reasoning", "reasoning_details"];

/** Fields of a response that its words come in, piece by piece: the same word again is another word. */
const TEXTS = new Set(
  ("arguments cited_text content input partial_json reasoning reasoning_content refusal text thinking " +
    "transcript summary data").split(" "),
);
/** Fields of a request that are ids of calls. */
const IDS = new Set(["id", "call_id", "tool_call_id", "tool_use_id"]);
/** The id of an output item, as `msg_1f0c`: neither a word nor in a prompt. */
const ITEM_ID = /^[a-z]{1,16}_(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{1,63}$/;
/** What a kind, a role or an id has at most. */
const MARKER_CHARS = 64;
/** Up to this many keys and values of one place are its kinds; more are words. */
const MAX_KEYS = 8;
const MAX_VALUES = 2;

/** Longer values of unknown fields are not kept to be compared with the next. */
const MAX_KEPT_CHARS = 65_536;

/**
 * Counts the tokens of JSON as it goes over the wire. It walks everything: each text, key and number counts unless
 * it is known to be none, so a field that nobody has heard of yet is counted, too. Media have rules of their own.
 *
 * The same for a body that is sent and for a response that is delivered, whole or in pieces.
 */
export class Meter {
  readonly #counter: TokenCounter | TextQueue;
  /** Tokens of images and other parts that are not text. */
  #more = 0;
  /** Maximum tokens of sound in addition to those counted. */
  openTokens = 0;
  /** Whether there is anything but text. */
  hasMedia = false;
  /** What images were found in: their own field is counted by its size. */
  readonly #images: ReadonlySet<JsonValue> | undefined;
  readonly #separator: string;
  /** Unknown fields beside a response's choices, which many upstreams repeat in every chunk. */
  #beside: Record<string, string> | undefined;
  /** Keys and short values that a response had in a place: they come again with each of its pieces. */
  readonly #kinds: Record<string, Set<string>> = {};
  /** What the gateway sealed, by the sealed text. */
  readonly #opened: ParsedRequest["opened"];
  readonly #openedTokens = new Map<string, number>();

  /**
   * @param images Of a request; undefined for a response.
   * @param opened What the gateway sealed in the request, by the sealed text: an upstream gets that.
   * @param counter Counts the texts, at once or later.
   */
  constructor(
    images?: ReadonlySet<JsonValue>,
    opened?: ParsedRequest["opened"],
    counter: TokenCounter | TextQueue = new TokenCounter(),
  ) {
    this.#counter = counter;
    this.#images = images;
    this.#opened = opened;
    this.#separator = images === undefined ? "" : "\n"; // a response comes in pieces of words
  }

  /** Tokens so far. */
  get tokens(): number {
    return this.#counter.tokens + this.#more;
  }

  /** Tokens of them that some tokenizer may not need, see `TokenCounter.overcounted`. */
  get overcounted(): number {
    return this.#counter instanceof TextQueue ? 0 : this.#counter.overcounted;
  }

  /** Adds a text. */
  add(said: string): void {
    this.#counter.add(said);
  }

  /** Adds tokens of parts that are not text. */
  addTokens(tokens: number): void {
    this.#more += tokens;
  }

  /** Adds a JSON value by its text, keys and numbers included, as tools and schemas are put into a prompt. */
  addJson(value: JsonValue): void {
    const make = () => `${JSON.stringify(value)}\n`;
    if (this.#counter instanceof TextQueue) this.#counter.addLater(make);
    else this.#counter.add(make());
  }

  /** Adds a field beside a response's choices, once for each value that it has. */
  addBeside(key: string, value: JsonValue): boolean {
    const json = JSON.stringify(value);
    this.#beside ??= {};
    if (this.#beside[key] === json) return false;
    const isFirst = !Object.hasOwn(this.#beside, key);
    if (json.length <= MAX_KEPT_CHARS) this.#beside[key] = json;
    const isMarker = isFirst && typeof value === "string" && json.length <= MARKER_CHARS;
    if (isMarker) return false; // a name that stays the same
    const keySays = this.#addKey(key, "");
    return this.addTexts(value, key) || keySays;
  }

  /** Adds every text in a message, a content part or a part of a response. Returns whether there was one. */
  addTexts(value: JsonValue | undefined, key = "", parent = ""): boolean {
    if (typeof value === "string") return this.#addText(value, key, parent);
    if (typeof value === "number") return this.#addNumber(String(value), key);
    if (typeof value === "object" && value !== null) {
      if (isLargeNumber(value)) return this.#addNumber(JSON.stringify(value), key);
      if (!Array.isArray(value)) return this.#addObject(value as JsonObject, key);
      let any = false;
      for (const one of value) any = this.addTexts(one) || any;
      return any;
    }
    if (typeof value === "boolean" && key === "") this.#more++; // an element
    return false;
  }

  #addText(value: string, key: string, parent: string): boolean {
    // only what is short: to look a text up is to hash all of it
    if (value === "") return false;
    if (value.length <= MARKER_CHARS && MARKERS.has(key) && VALUES.has(value)) return false;
    if ((key === "id" || key === "item_id") && isItemId(value)) return false;
    if (this.#images !== undefined && IDS.has(key) && value.length > MARKER_CHARS) {
      this.#counter.add(value.slice(0, value.length / 2)); // another dialect may need more to say it
    } else if (!TEXTS.has(key) && this.#isRepeated(`${parent} ${key}`, value, MAX_VALUES)) {
      return false;
    }
    this.#counter.add(value);
    this.#counter.add(this.#separator); // by itself: megabytes are not copied for it
    return true;
  }

  #addKey(key: string, parent: string): boolean {
    if (KEYS.has(key) || this.#isRepeated(parent, key, MAX_KEYS)) return false;
    this.#counter.add(` ${key}`);
    return true;
  }

  /** Whether a response had this short text in this place before; where it has many there, they are its words. */
  #isRepeated(place: string, value: string, maxKinds: number): boolean {
    if (this.#images !== undefined || value.length > MARKER_CHARS) return false;
    const kinds = this.#kinds[place] ??= new Set();
    if (kinds.size > maxKinds) return false;
    if (kinds.has(value)) return true;
    kinds.add(value);
    return false;
  }

  /** Numbers are text in a request; a response has counts, times and positions. */
  #addNumber(digits: string, key: string): boolean {
    if (this.#images !== undefined || key !== "" && digits.length > 20) {
      this.#counter.add(`${digits}${this.#separator}`);
    }
    return false;
  }

  #addObject(value: JsonObject, name: string): boolean {
    const type = text(value.type) ?? "";
    const reasoning = this.#images === undefined ? reasoningOf(value) : undefined;
    let any = false;
    for (const key in value) {
      const part = value[key];
      if (part === undefined || part === null) continue;
      any = this.#addKey(key, name) || any;
      if (reasoning !== undefined && key !== reasoning && REASONING.includes(key)) continue;
      if (this.#isImage(value, key, type)) continue;
      if (key === "input" && type === "tool_use" && isObject(part)) {
        const isEmpty = Object.keys(part).length === 0;
        any = any || !isEmpty;
        // a streamed call begins with an empty input, which its deltas fill
        if (!isEmpty || this.#images !== undefined) this.addJson(part);
      } else if (key === "tools" && Array.isArray(part) && this.#images !== undefined) {
        any = true;
        for (const tool of part) this.addJson(tool);
      } else if (this.#isForeign(part, key)) {
        any = true;
        this.addJson(part);
      } else if (typeof part === "string" && this.#addMedium(part, key, type, name)) {
        any = any || type !== "thinking";
      } else {
        any = this.addTexts(part, key, name) || any;
      }
    }
    return any;
  }

  /** Whether a value of a request is nothing that the wire formats put there, and too long for a setting. */
  #isForeign(part: JsonValue, key: string): boolean {
    if (this.#images === undefined || typeof part !== "object" || CONTAINERS.has(key)) return false;
    return JSON.stringify(part).length > MARKER_CHARS;
  }

  /** Whether a field is what an image of the request was found in. */
  #isImage(value: JsonObject, key: string, type: string): boolean {
    if (this.#images === undefined || !this.#images.has(value)) return false;
    if (typeof value.image_url === "string") return key === "image_url";
    return key === (type === "base64" ? "data" : "url");
  }

  /** Counts documents, sound, pictures and sealed texts. Returns whether the field is one of them. */
  #addMedium(part: string, key: string, type: string, name: string): boolean {
    const isMedium = this.#addMediumTokens(part, key, type, name);
    this.hasMedia ||= isMedium;
    return isMedium;
  }

  #addMediumTokens(part: string, key: string, type: string, name: string): boolean {
    const isFile = key === "file_data" || key === "data" && type === "base64";
    const file = isFile ? part.replace(/^data:[^,]{0,200};base64,/i, "") : "";
    if (isFile && (isBase64(file) || /^JVBERi0[A-Za-z0-9+/=\r\n]{0,60}$/.test(file))) {
      this.#more += documentTokens(part);
    } else if (
      (key === "url" && type === "url" || key === "file_url") && /^https?:\S{1,2000}$/i.test(part)
    ) {
      this.#more += documentTokens(part);
    } else if (key === "data" && /^(input_)?audio$/.test(name) && isBase64(part)) {
      const bytes = part.length * 0.75;
      const counted = Math.ceil(bytes / SOUND_BYTES_PER_TOKEN);
      this.#more += counted;
      this.openTokens += Math.ceil(bytes / MIN_SOUND_BYTES_PER_TOKEN) - counted;
    } else if (key === "url" && isPicture(part)) { // that a model made: others were looked at
      this.#more += imageTokens([{ param: "", source: "inline", url: part }]);
    } else if (key === "result" && type === "image_generation_call" && isBase64(part)) {
      const url = `data:image/png;base64,${part}`;
      this.#more += imageTokens([{ param: "", source: "inline", url }]);
    } else if (this.#opened?.has(part)) {
      this.#more += this.#tokensOfOpened(part);
    } else if (isSealed(key, type) && isSealedText(part)) {
      this.#more += Math.ceil(part.length / SEALED_CHARS_PER_TOKEN);
    } else {
      return false;
    }
    return true;
  }

  /** Counted once, however often the request has it. */
  #tokensOfOpened(sealed: string): number {
    let tokens = this.#openedTokens.get(sealed);
    if (tokens === undefined) {
      tokens = tokensOfSealed(this.#opened!.get(sealed)!);
      this.#openedTokens.set(sealed, tokens);
    }
    return tokens;
  }
}

/** Tokens of what the gateway has sealed: its texts, and what upstreams sealed in it. */
function tokensOfSealed({ text: own, parts }: JsonObject): number {
  const counter = new TokenCounter();
  let more = 0;
  for (const part of [{ text: own }, ...objects(parts)]) {
    counter.add(text(part.text) ?? "");
    more += Math.ceil((text(part.seal) ?? "").length / SEALED_CHARS_PER_TOKEN);
  }
  return counter.tokens + more;
}

/** Whether a text is the id of an output item. */
export function isItemId(value: string): boolean {
  return value.length <= MARKER_CHARS && ITEM_ID.test(value);
}

function isSealed(key: string, type: string): boolean {
  return key === "signature" && (type === "thinking" || type === "reasoning.text") ||
    key === "data" && (type === "redacted_thinking" || type === "reasoning.encrypted") ||
    key === "encrypted_content";
}

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
