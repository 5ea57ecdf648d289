import { isObject, type JsonObject } from "./json.ts";

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

/** Usage as counted by the gateway, which cannot tell what was cached and what was reasoning. */
export function countedUsage(inputTokens: number, outputTokens: number): Usage {
  return { inputTokens, cachedTokens: 0, cacheWrittenTokens: 0, outputTokens, reasoningTokens: 0 };
}

/** Whether two are the same in all numbers. */
export function isSameUsage(one: Usage, other: Usage | undefined): boolean {
  return other !== undefined && (Object.keys(one) as (keyof Usage)[])
    .every((field) => one[field] === other[field]);
}

/** No tokens at all, as for the end of one of several choices. */
export const NO_USAGE: Usage = countedUsage(0, 0);

/**
 * A number of tokens as an upstream reports it; undefined for what cannot be a count (negative, fractional, text,
 * beyond 2^53). An explicit zero is a report.
 */
export function tokenCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
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
