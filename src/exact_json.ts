/** A run of digits that may be a number beyond 2^53: rare, and quickly looked for. */
const MANY_DIGITS = /\d{16}/;

/** What the platform has and its types do not know yet (ECMAScript proposal "JSON.parse source text access"). */
const platform = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, how: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
};

/**
 * Parses JSON so that whole numbers beyond 2^53, such as ids, are written again as they were read; as numbers
 * they would be rounded. In what is parsed they are objects that only `JSON.stringify` understands.
 *
 * @throws {SyntaxError} as `JSON.parse` does.
 *
 * @example
 * ```ts
 * import { parseJson } from "./exact_json.ts";
 *
 * JSON.stringify(parseJson('{"id":1234567890123456789}')); // '{"id":1234567890123456789}'
 * ```
 */
export function parseJson(text: string): unknown {
  return MANY_DIGITS.test(text) ? platform.parse(text, exact) : JSON.parse(text);
}

function exact(_key: string, value: unknown, { source }: { source?: string }): unknown {
  const isRounded = typeof value === "number" && Number.isInteger(value) &&
    !Number.isSafeInteger(value) && source !== undefined && /^-?\d+$/.test(source);
  return isRounded ? platform.rawJSON(source!) : value;
}
