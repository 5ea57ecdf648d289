import { TextQueue } from "../tokens/mod.ts";
import type { ImageView, ParsedRequest } from "./dialect.ts";
import { imageTokens, MAX_IMAGE_TOKENS } from "./image_tokens.ts";
import { isObject, type JsonObject, type JsonValue, objects } from "./json.ts";
import { Meter } from "./meter.ts";

/** Tokens that frame a request, and each of its messages. */
const PER_REQUEST = 3;
const PER_MESSAGE = 4;

/** Settings of a request that are free while their JSON is this short. */
const SETTINGS = new Set(
  ("anthropic_version audio container context_management frequency_penalty inference_geo max_completion_tokens " +
    "max_output_tokens max_tokens metadata modalities model n output_config parallel_tool_calls presence_penalty " +
    "prompt_cache_key prompt_cache_retention reasoning reasoning_effort response_format safety_identifier seed " +
    "service_tier stop stop_sequences store stream stream_options temperature thinking tool_choice top_k " +
    "top_logprobs top_p user verbosity logprobs betas background include max_tool_calls text truncation")
    .split(" "),
);
/** Whether a field of a request is a setting, and not part of its prompt. */
export function isSetting(key: string): boolean {
  return SETTINGS.has(key) || key === "tools" || key === "functions";
}

const SETTING_CHARS = 64;

/** What a tool of an upstream's own adds at most: Anthropic's documentation says up to 1,200 for the use of a computer. */
const MAX_TOOL_TOKENS = 2_000;

/** The input of a request, as counted by the gateway. */
export interface MeteredInput {
  readonly tokens: number;
  /** Whether it is nothing but text. */
  readonly isText: boolean;
  /** Tokens that it may have beyond that, at most: of images, sound and tools that upstreams describe themselves. */
  readonly openTokens: number;
}

/** Input tokens of a request's body: see {@linkcode meterRequest}. */
export function meterInput(
  body: JsonObject,
  images: readonly ImageView[],
  opened?: ParsedRequest["opened"],
): number {
  return meterRequest(body, images, opened).tokens;
}

/**
 * The input of a request's body, in any dialect: messages and instructions by their texts, everything else
 * (tools, schemas, unknown fields) by its JSON.
 *
 * @param images The body's images, which are counted by their sizes.
 * @param opened What the gateway sealed in it, by the sealed text.
 * @returns Its tokens, and what they are of.
 */
export function meterRequest(
  body: JsonObject,
  images: readonly ImageView[],
  opened?: ParsedRequest["opened"],
): MeteredInput {
  const meter = new Meter(holdersOf(body, images), opened);
  addBody(meter, body, images);
  return metered(meter, body, images);
}

/**
 * The same as {@linkcode meterRequest}, with turns of the event loop in between: for bodies of any size.
 *
 * @param images The body's images, which are counted by their sizes.
 * @param opened What the gateway sealed in it, by the sealed text.
 * @returns Resolves with its tokens, and what they are of.
 */
export async function meterInTurns(
  body: JsonObject,
  images: readonly ImageView[],
  opened?: ParsedRequest["opened"],
): Promise<MeteredInput> {
  const texts = new TextQueue();
  const meter = new Meter(holdersOf(body, images), opened, texts);
  addBody(meter, body, images);
  await texts.count();
  return metered(meter, body, images);
}

function holdersOf(body: JsonObject, images: readonly ImageView[]): ReadonlySet<JsonValue> {
  return new Set(images.map(({ param }) => holderOf(body, param)));
}

function addBody(meter: Meter, body: JsonObject, images: readonly ImageView[]): void {
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
      if (typeof value === "object" && JSON.stringify(value).length > SETTING_CHARS) {
        meter.addJson(value);
      } else if (!isSetting || typeof value === "string" && value.length > SETTING_CHARS) {
        meter.addTexts(value, key);
      }
    }
  }
  const messages = objects(body.messages).length + objects(body.input).length;
  meter.addTokens(PER_MESSAGE * (messages + (typeof body.input === "string" ? 1 : 0)));
}

function metered(meter: Meter, body: JsonObject, images: readonly ImageView[]): MeteredInput {
  return {
    tokens: meter.tokens,
    isText: images.length === 0 && !meter.hasMedia,
    openTokens: images.length * MAX_IMAGE_TOKENS + meter.openTokens +
      toolsOfUpstreams(body) * MAX_TOOL_TOKENS,
  };
}

/** Tools for whose descriptions an upstream puts something of its own into the prompt. */
function toolsOfUpstreams({ tools }: JsonObject): number {
  return objects(tools).filter(({ type = "custom" }) =>
    type !== null && type !== "function" && type !== "custom" && type !== "namespace"
  ).length;
}

/** What holds an image: the object of its field, or the part around it where the field is a plain text. */
export function holderOf(body: JsonObject, param: string): JsonValue {
  let holder: JsonValue = body;
  let value: JsonValue | undefined = body;
  for (const step of param.match(/[^.[\]]+/g) ?? []) {
    if (Array.isArray(value)) value = value[Number(step)];
    else if (isObject(value)) value = value[step];
    if (isObject(value)) holder = value;
  }
  return holder;
}
