import { createHash } from "node:crypto";
import { isObject, items, type JsonObject, type JsonValue, text } from "../../wire/dialects/mod.ts";
import { encodeVector, MAX_DIMENSIONS } from "../../wire/embeddings/mod.ts";
import { countTokens } from "../../wire/tokens/mod.ts";
import type { Directives } from "./directives.ts";

/** Length of vectors where a request asks for no other. */
const DIMENSIONS = 1_536;
/** Max numbers in a reply: those of as many inputs as a request may have, in the longest vectors that are common. */
const MAX_NUMBERS = 2_048 * 3_072;
/** Numbers of a vector that a word changes. */
const PER_WORD = 16;
/** Part of a vector that the text as a whole decides, so that the same words in another order give another vector. */
const OF_TEXT = 0.2;

/** What the simulated upstream makes vectors of. */
export interface EmbeddingsAsk {
  readonly model: string;
  /** Each text, or tokens as text. */
  readonly inputs: readonly string[];
  readonly dimensions: number;
  readonly isBase64: boolean;
  readonly inputTokens: number;
}

/** Reads a body the way a lenient upstream does; undefined for what has no inputs. */
export function readEmbeddingsAsk(body: JsonObject): EmbeddingsAsk | undefined {
  const { input, dimensions } = body;
  const all = typeof input === "string" || typeof items(input)[0] === "number"
    ? [input]
    : items(input);
  const length = dimensions ?? DIMENSIONS;
  const isUsable = all.length > 0 && typeof length === "number" && Number.isInteger(length) &&
    length >= 1 && length <= MAX_DIMENSIONS && length * all.length <= MAX_NUMBERS;
  if (!isUsable) return undefined;
  return {
    model: text(body.model) ?? "",
    inputs: all.map(textOf),
    dimensions: length,
    isBase64: body.encoding_format === "base64",
    inputTokens: all.reduce<number>((sum, one) => sum + tokensOf(one), 0),
  };
}

/** The reply to a request: unit vectors, the same for the same text, and alike for texts that share words. */
export function embeddingsReply(
  { model, inputs, dimensions, isBase64, inputTokens }: EmbeddingsAsk,
  { usage }: Directives,
): JsonObject {
  const tokens = usage === "zero" ? 0 : inputTokens;
  return {
    object: "list",
    data: inputs.map((input, index) => {
      const vector = unitVector(input, dimensions);
      return {
        object: "embedding",
        index,
        embedding: isBase64 ? encodeVector(vector) : [...vector],
      };
    }),
    model,
    ...(usage === "none" ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } }),
  };
}

function textOf(input: JsonValue | undefined): string {
  if (typeof input === "string") return input;
  return items(input).map((token) => `token${isObject(token) ? "" : token}`).join(" ");
}

function tokensOf(input: JsonValue | undefined): number {
  return typeof input === "string" ? countTokens(input) : items(input).length;
}

/** The sum of what each word and the whole text point at. */
function unitVector(input: string, dimensions: number): Float32Array {
  const words = new Float64Array(dimensions);
  for (const word of input.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const next = random(word);
    for (let times = 0; times < PER_WORD; times++) {
      words[Math.floor(next() * dimensions)]! += next() < 0.5 ? -1 : 1;
    }
  }
  const next = random(createHash("sha256").update(input).digest("base64"));
  const whole = Float64Array.from(words, () => next() - 0.5);
  const [ofWords, ofText] = [1 / (lengthOf(words) || 1), OF_TEXT / lengthOf(whole)];
  const sum = words.map((value, at) => value * ofWords + whole[at]! * ofText);
  const scale = 1 / lengthOf(sum);
  return Float32Array.from(sum, (value) => value * scale);
}

function lengthOf(vector: Float64Array): number {
  let sum = 0;
  for (const value of vector) sum += value * value;
  return Math.sqrt(sum);
}

/** Numbers from 0 to 1, the same for the same seed (FNV-1a, then mulberry32). */
function random(seed: string): () => number {
  let state = 0x811c9dc5;
  for (let at = 0; at < seed.length; at++) {
    state = Math.imul(state ^ seed.charCodeAt(at), 0x01000193);
  }
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
