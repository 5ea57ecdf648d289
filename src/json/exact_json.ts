/** A run of digits that may be a number beyond 2^53: rare, and quickly looked for. */
const MANY_DIGITS = /\d{16}/;
/** Values that are looked at one by one, which costs about a microsecond each; beyond that numbers are rounded. */
const MOST_VALUES = 20_000;

/** What the platform has and its types do not know yet (ECMAScript proposal "JSON.parse source text access"). */
const platform = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, how: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

/**
 * Parses JSON so that whole numbers beyond 2^53, such as ids, are written again as they were read; as numbers
 * they would be rounded. In what is parsed they are objects that only `JSON.stringify` understands. They are
 * rounded all the same in a text of more than {@linkcode MOST_VALUES} values.
 *
 * @throws {SyntaxError} as `JSON.parse` does.
 *
 * @example
 * ```ts
 * import { parseJson } from "./mod.ts";
 *
 * JSON.stringify(parseJson('{"id":1234567890123456789}')); // '{"id":1234567890123456789}'
 * ```
 */
export function parseJson(text: string): unknown {
  return MANY_DIGITS.test(text) && holdsLargeNumber(text)
    ? platform.parse(text, exact)
    : JSON.parse(text);
}

/** Whether a parsed value is such a number. */
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

/** Whether many digits stand outside of the texts, among values that are few enough. */
function holdsLargeNumber(json: string): boolean {
  let values = 0;
  let digits = 0;
  let found = false;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code >= ZERO && code <= NINE) {
      if (++digits === 16) found = true;
      continue;
    }
    digits = 0;
    if (code === QUOTE) at = endOfText(json, at);
    else if (code === COMMA || code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (++values > MOST_VALUES) return false;
    }
  }
  return found;
}

/** The position of the quote that ends the text whose opening quote is at `start`; the length when it has no end. */
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
