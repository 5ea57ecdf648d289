import { isObject, type JsonObject, objects } from "./json.ts";

/** Tokens of one request, with one meaning for all dialects. */
export interface Usage {
  /** All input, cached included. */
  readonly inputTokens: number;
  /** Input read from a cache; part of `inputTokens`. */
  readonly cachedTokens: number;
  /** Input written to a cache; part of `inputTokens`, and charged like the rest of it. */
  readonly cacheWrittenTokens: number;
  /** All output, reasoning included. */
  readonly outputTokens: number;
  /** Output that was reasoning; part of `outputTokens`. */
  readonly reasoningTokens: number;
}

/** Tokens that may have a price of their own, as far as a report tells them apart: each is part of the input or of the output. */
export interface TokenKinds {
  /** Input written to a cache that lives for an hour; part of what was written. */
  readonly writtenHour?: number | undefined;
  readonly audioInput?: number | undefined;
  /** Audio read from a cache; part of the audio and of the cached input. */
  readonly audioCached?: number | undefined;
  readonly imageInput?: number | undefined;
  readonly imageCached?: number | undefined;
  readonly audioOutput?: number | undefined;
  readonly imageOutput?: number | undefined;
}

/** Usage as counted by the gateway, which cannot tell what was cached and what was reasoning. */
export function countedUsage(inputTokens: number, outputTokens: number): Usage {
  return { inputTokens, cachedTokens: 0, cacheWrittenTokens: 0, outputTokens, reasoningTokens: 0 };
}

/** Whether two are the same in all numbers. */
export function isSameUsage(one: Usage, other: Usage | undefined): boolean {
  return other !== undefined && (Object.keys(one) as (keyof Usage)[])
    .every((field) => one[field] === other[field]);
}

/** The sum of several. */
export function sumOfUsages(all: readonly Usage[]): Usage {
  const sum = (field: keyof Usage) => all.reduce((total, usage) => total + usage[field], 0);
  return {
    inputTokens: sum("inputTokens"),
    cachedTokens: sum("cachedTokens"),
    cacheWrittenTokens: sum("cacheWrittenTokens"),
    outputTokens: sum("outputTokens"),
    reasoningTokens: sum("reasoningTokens"),
  };
}

/** Only the kinds that there are tokens of; undefined for none. */
export function kindsOf(kinds: TokenKinds): TokenKinds | undefined {
  let there: Partial<Record<keyof TokenKinds, number>> | undefined;
  for (const kind in kinds) {
    const tokens = kinds[kind as keyof TokenKinds] ?? 0;
    if (tokens > 0) (there ??= {})[kind as keyof TokenKinds] = tokens;
  }
  return there;
}

/** No tokens at all, as for the end of one of several choices. */
export const NO_USAGE: Usage = countedUsage(0, 0);

/**
 * A number of tokens as an upstream reports it, also as a text, and rounded up where it is fractional; undefined for what cannot be a count
 * (negative, other text, beyond 2^53). An explicit zero is a report.
 */
export function tokenCount(value: unknown): number | undefined {
  const said = typeof value === "string" && /^\d{1,16}(?:\.\d{1,16})?$/.test(value)
    ? Number(value)
    : value;
  const count = typeof said === "number" && said >= 0 ? Math.ceil(said) : undefined;
  return Number.isSafeInteger(count) ? count : undefined;
}

/** A report with whole numbers of tokens, as SDKs type them; the same object where it has only those. */
export function withCounts(report: JsonObject): JsonObject {
  let counted = report;
  for (const name in report) {
    const value = report[name];
    const count = isObject(value)
      ? withCounts(value)
      : name.endsWith("tokens")
      ? tokenCount(value)
      : undefined;
    if (count === undefined || count === value) continue;
    if (counted === report) counted = { ...report };
    counted[name] = count;
  }
  return counted;
}

/** The first of the values that is a token count. */
export function firstCount(...values: readonly unknown[]): number | undefined {
  for (const value of values) {
    const count = tokenCount(value);
    if (count !== undefined) return count;
  }
  return undefined;
}

/** An object's field that is an object, else an empty one. */
export function inner(value: JsonObject, key: string): JsonObject {
  const found = value[key];
  return isObject(found) ? found : {};
}

/** Gemini reads a document as pictures of its pages. */
const PICTURES = ["IMAGE", "DOCUMENT"];
const IMAGE = ["IMAGE"];
const AUDIO = ["AUDIO"];

/**
 * Audio and images of a report, as OpenAI's `prompt_tokens_details` and `completion_tokens_details` (chat) or `input_tokens_details`
 * and `output_tokens_details` (responses) have them, Anthropic's writes for an hour, and Gemini's lists by modality.
 */
export function kindsIn(
  report: JsonObject,
): { readonly inputKinds: TokenKinds | undefined; readonly outputKinds: TokenKinds | undefined } {
  const details = (name: string, other: string) => {
    const first = inner(report, name);
    for (const _ in first) return first;
    return inner(report, other);
  };
  const input = details("prompt_tokens_details", "input_tokens_details");
  const output = details("completion_tokens_details", "output_tokens_details");
  const cached = inner(input, "cached_tokens_details");
  const writtenHour = firstCount(inner(report, "cache_creation").ephemeral_1h_input_tokens);
  const listed = (name: string, kinds: readonly string[]) =>
    report[name] === undefined
      ? undefined
      : objects(report[name]).filter(({ modality }) => kinds.includes(String(modality)))
        .map(({ tokenCount: count }) => tokenCount(count) ?? 0)
        .reduce<number | undefined>((sum, count) => (sum ?? 0) + count, undefined);
  const inputKinds = kindsOf({
    audioInput: firstCount(input.audio_tokens, listed("promptTokensDetails", AUDIO)),
    audioCached: firstCount(cached.audio_tokens, listed("cacheTokensDetails", AUDIO)),
    imageInput: firstCount(input.image_tokens, listed("promptTokensDetails", PICTURES)),
    imageCached: firstCount(cached.image_tokens, listed("cacheTokensDetails", PICTURES)),
  });
  return {
    // a zero tells that all of it is written for the usual time
    inputKinds: writtenHour === undefined ? inputKinds : { ...inputKinds, writtenHour },
    outputKinds: kindsOf({
      audioOutput: firstCount(output.audio_tokens, listed("candidatesTokensDetails", AUDIO)),
      imageOutput: firstCount(output.image_tokens, listed("candidatesTokensDetails", IMAGE)),
    }),
  };
}
