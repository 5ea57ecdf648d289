import { isLargeNumber } from "../json/mod.ts";
import { TokenCounter } from "../tokens/mod.ts";
import type { ImageView, ParsedRequest } from "./dialect.ts";
import { documentTokens } from "./document_tokens.ts";
import { imageTokens } from "./image_tokens.ts";
import { isObject, type JsonObject, type JsonValue, objects, text } from "./json.ts";

/** Tokens that frame a request, and each of its messages. */
const PER_REQUEST = 3;
const PER_MESSAGE = 4;

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

/** Settings of a request that are free while their JSON is this short. */
const SETTINGS = new Set(
  ("anthropic_version audio container context_management frequency_penalty inference_geo max_completion_tokens " +
    "max_output_tokens max_tokens metadata modalities model n output_config parallel_tool_calls presence_penalty " +
    "prompt_cache_key prompt_cache_retention reasoning reasoning_effort response_format safety_identifier seed " +
    "service_tier stop stop_sequences store stream stream_options temperature thinking tool_choice top_k " +
    "top_logprobs top_p user verbosity logprobs betas background include max_tool_calls text truncation")
    .split(" "),
);
const SETTING_CHARS = 64;

/** Sealed texts, which only their upstream can read: base64 of the text and some more. */
const SEALED_CHARS_PER_TOKEN = 5;

/** Bytes of sound that stand for a token: 10 tokens a second of speech at 32 kbit/s. */
const SOUND_BYTES_PER_TOKEN = 400;

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
  readonly #counter = new TokenCounter();
  /** Tokens of images and other parts that are not text. */
  #more = 0;
  /** What images were found in: their own field is counted by its size. */
  readonly #images: ReadonlySet<JsonValue> | undefined;
  readonly #separator: string;
  /** Unknown fields beside a response's choices, which many upstreams repeat in every chunk. */
  #beside: Record<string, string> | undefined;
  /** Keys and short values that a response had in a place: they come again with each of its pieces. */
  readonly #kinds: Record<string, Set<string>> = {};
  /** What the gateway sealed, by the sealed text. */
  readonly #opened: ParsedRequest["opened"];
  /** Tokens of it. */
  readonly #openedTokens = new Map<string, number>();

  /**
   * @param images Of a request; undefined for a response.
   * @param opened What the gateway sealed in the request, by the sealed text: an upstream gets that.
   */
  constructor(images?: ReadonlySet<JsonValue>, opened?: ParsedRequest["opened"]) {
    this.#images = images;
    this.#opened = opened;
    this.#separator = images === undefined ? "" : "\n"; // a response comes in pieces of words
  }

  /** Tokens so far. */
  get tokens(): number {
    return this.#counter.tokens + this.#more;
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
    this.#counter.add(`${JSON.stringify(value)}\n`);
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
    if (value === "" || value.length <= MARKER_CHARS && VALUES.has(value)) return false;
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
        any = Object.keys(part).length > 0 || any;
        this.addJson(part);
      } else if (key === "tools" && Array.isArray(part) && this.#images !== undefined) {
        any = true;
        for (const tool of part) this.addJson(tool);
      } else if (typeof part === "string" && this.#addMedium(part, key, type, name)) {
        any = any || type !== "thinking";
      } else {
        any = this.addTexts(part, key, name) || any;
      }
    }
    return any;
  }

  /** Whether a field is what an image of the request was found in. */
  #isImage(value: JsonObject, key: string, type: string): boolean {
    if (this.#images === undefined || !this.#images.has(value)) return false;
    if (typeof value.image_url === "string") return key === "image_url";
    return key === (type === "base64" ? "data" : "url");
  }

  /** Counts documents, sound, pictures and sealed texts. Returns whether the field is one of them. */
  #addMedium(part: string, key: string, type: string, name: string): boolean {
    const isFile = key === "file_data" || key === "data" && type === "base64";
    const file = isFile ? part.replace(/^data:[^,]{0,200};base64,/i, "") : "";
    if (isFile && (isBase64(file) || /^JVBERi0[A-Za-z0-9+/=\r\n]{0,60}$/.test(file))) {
      this.#more += documentTokens(part);
    } else if (
      (key === "url" && type === "url" || key === "file_url") && /^https?:\S{1,2000}$/i.test(part)
    ) {
      this.#more += documentTokens(part);
    } else if (key === "data" && /^(input_)?audio$/.test(name) && isBase64(part)) {
      this.#more += Math.ceil(part.length * 0.75 / SOUND_BYTES_PER_TOKEN);
    } else if (this.#images === undefined && key === "url" && isPicture(part)) {
      this.#more += imageTokens([{ param: "", source: "inline", url: part }]);
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

/** Sealed texts may be in the alphabet of URLs, and begin with the mark of the gateway's own. */
function isSealedText(value: string): boolean {
  return isBase64(value, /^(?:sl1\.)?[A-Za-z0-9+/=_\r\n-]*$/);
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

/** Shorter texts count as text anyway. */
const MIN_BASE64_CHARS = 64;
const SAMPLE_CHARS = 4_096;
/** Part of it that is capitals and digits, at least. */
const MIN_MARKED = 0.3;
/** It may be broken into lines, as mail does it. */
const MIN_LINE_CHARS = 60;

/**
 * Whether a text is base64 of bytes, and not words without spaces: those have few capitals and digits. Asked before
 * anything is decoded: the platform's decoder takes minutes for megabytes of other characters (Deno 2.9).
 */
function isBase64(value: string, legal = /^[A-Za-z0-9+/=\r\n]*$/): boolean {
  if (value.length < MIN_BASE64_CHARS || !legal.test(value)) return false;
  const sample = value.slice(0, SAMPLE_CHARS);
  const marked = sample.replace(/[^A-Z0-9]/g, "").length / sample.length;
  const lines = sample.split("\n").length - 1;
  return marked > MIN_MARKED && lines <= sample.length / MIN_LINE_CHARS;
}

function isPicture(url: string): boolean {
  const start = /^data:image\/[a-z+.-]{1,20};base64,/.exec(url)?.[0].length;
  return start !== undefined && isBase64(url.slice(start));
}

/**
 * Input tokens of a request's body, in any dialect: messages and instructions by their texts, everything else
 * (tools, schemas, unknown fields) by its JSON.
 *
 * @param images The body's images, which are counted by their sizes.
 * @param opened What the gateway sealed in it, by the sealed text.
 */
export function meterInput(
  body: JsonObject,
  images: readonly ImageView[],
  opened?: ParsedRequest["opened"],
): number {
  const meter = new Meter(new Set(images.map(({ param }) => holderOf(body, param))), opened);
  meter.addTokens(PER_REQUEST + imageTokens(images));
  for (const key in body) {
    const value = body[key];
    if (value === undefined || value === null) continue;
    if (key === "messages" || key === "system" || key === "input" || key === "instructions") {
      meter.addTexts(value, key);
    } else if (key === "tools" || key === "functions") {
      for (const tool of Array.isArray(value) ? value : [value]) meter.addJson(tool);
    } else {
      const isSetting = SETTINGS.has(key);
      if (!isSetting) meter.add(` ${key}`);
      if (!isSetting || JSON.stringify(value).length > SETTING_CHARS) meter.addTexts(value, key);
    }
  }
  const messages = objects(body.messages).length + objects(body.input).length;
  meter.addTokens(PER_MESSAGE * (messages + (typeof body.input === "string" ? 1 : 0)));
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

/** Fields of a chat response that its choices are not in. */
const CHAT_ENVELOPE = new Set(["id", "object", "created", "model", "choices", "usage"]);

/** Counts what a chat response says beside its choices. Returns whether it says anything. */
export function meterBeside(meter: Meter, response: JsonObject): boolean {
  let any = false;
  for (const key in response) {
    const value = response[key];
    // obfuscation pads events to the same length
    if (CHAT_ENVELOPE.has(key) || key === "obfuscation") continue;
    if (value !== undefined && value !== null) any = meter.addBeside(key, value) || any;
  }
  return any;
}

/** Counts what a choice of a chat response says: a delta or a whole message. Returns whether it says anything. */
export function meterChoice(meter: Meter, choice: JsonObject): boolean {
  // probabilities of tokens that are counted as text
  const { logprobs: _, ...said } = choice;
  return meter.addTexts(said);
}

/** Counts what an event of a messages response says. Returns whether it says anything. */
export function meterEvent(meter: Meter, event: JsonObject): boolean {
  const { delta, message } = event;
  // a signature seals what was said before it
  if (
    isObject(delta) && delta.type === "signature_delta" && isBase64(text(delta.signature) ?? "")
  ) {
    return false;
  }
  if (event.type !== "message_start" || !isObject(message)) return meter.addTexts(event);
  const { id: _id, model: _model, ...said } = message;
  return meter.addTexts({ ...event, message: said });
}
