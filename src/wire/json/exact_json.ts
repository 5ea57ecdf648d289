/** Digits in a row that may be an integer beyond 2^53. Rare, and quick to search for. */
export const LONG_DIGITS = 16;
const MANY_DIGITS = /\d{16}/;
/** Max values passed to the reviver, which takes about a microsecond each. In longer texts, numbers are rounded. */
const MAX_VALUES = 20_000;

/** Methods that the platform has but its types lack (ECMAScript proposal "JSON.parse source text access"). */
const platform = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, how: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

/**
 * Parses JSON and keeps integers beyond 2^53, such as IDs, exact. As numbers they would be rounded, so they are
 * represented by objects that only `JSON.stringify` understands. Texts of more than {@linkcode MAX_VALUES} values
 * are parsed as usual, with rounding.
 *
 * @param longDigits Whether a number in it has 16 digits in a row; searched for if this is not known.
 * @throws {SyntaxError} If the text is not valid JSON.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { parseJson } from "./mod.ts";
 *
 * assertEquals(JSON.stringify(parseJson('{"id":1234567890123456789}')), '{"id":1234567890123456789}');
 * ```
 */
export function parseJson(text: string, longDigits = MANY_DIGITS.test(text)): unknown {
  return longDigits && holdsLargeNumber(text) ? platform.parse(text, exact) : JSON.parse(text);
}

/**
 * Returns whether a value is an exact integer made by {@linkcode parseJson}.
 *
 * @returns `true` for the object that represents an integer beyond 2^53.
 */
export function isLargeNumber(value: unknown): boolean {
  return platform.isRawJSON(value);
}

function exact(_key: string, value: unknown, { source }: { source?: string }): unknown {
  const isRounded = typeof value === "number" && source !== undefined &&
    !Number.isSafeInteger(value) && /^-?\d+$/.test(source) && String(value) !== source;
  return isRounded ? platform.rawJSON(source!) : value;
}

const QUOTE = 34;
const COMMA = 44;
const ZERO = 48;
const NINE = 57;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const OPEN_OBJECT = 123;

/** Whether there is a long run of digits outside of strings, in a text of at most {@linkcode MAX_VALUES} values. */
function holdsLargeNumber(json: string): boolean {
  let values = 0;
  let digits = 0;
  let found = false;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code >= ZERO && code <= NINE) {
      if (++digits === LONG_DIGITS) found = true;
      continue;
    }
    digits = 0;
    if (code === QUOTE) at = endOfText(json, at);
    else if (code === COMMA || code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (++values > MAX_VALUES) return false;
    }
  }
  return found;
}

/**
 * Finds the end of a JSON string.
 *
 * @param start Index of the opening quote.
 * @returns Index of the closing quote, or the length of the text if there is none.
 */
export function endOfText(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (end > 0 && isEscaped(json, end)) end = json.indexOf('"', end + 1);
  return end < 0 ? json.length : end;
}

function isEscaped(json: string, at: number): boolean {
  let before = at - 1;
  while (json.charCodeAt(before) === BACKSLASH) before--;
  return (at - before) % 2 === 0;
}
