import { endOfText, LONG_DIGITS } from "./exact_json.ts";

/** Limits on a JSON text, checked before it is parsed. */
export interface JsonBounds {
  /** Max nesting depth of arrays and objects. */
  readonly depth: number;
  /** Max number of values of any kind. An empty array or object that contains white space counts as two. */
  readonly values: number;
  /** Max number of members of one object. */
  readonly members: number;
}

/** What else is found in a JSON text while its limits are checked, so that large ones are walked through once. */
export class JsonFindings {
  /** Whether a number has 16 digits in a row: it may be an integer beyond 2^53. */
  longDigits = false;
  /** Long strings: the indexes of their first character and of their closing quote, or the text's end without one. */
  readonly texts: { readonly start: number; readonly end: number }[] = [];
  readonly minChars: number;

  /** @param minChars Length from which a string is long, as it is written. */
  constructor(minChars: number) {
    this.minChars = minChars;
  }
}

/** The limit that a text exceeds. */
export type JsonExcess = keyof JsonBounds;

const QUOTE = 34;
const COMMA = 44;
const ZERO = 48;
const NINE = 57;
const COLON = 58;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/**
 * Finds the first limit that a JSON text exceeds, in one pass without allocation. Parsing a few megabytes of
 * `[{},{},…]` first would take gigabytes and seconds.
 *
 * @param json The text, which need not be valid. Other characters than ASCII may be replaced.
 * @param findings Filled with what else is found, up to where a limit is exceeded.
 * @returns The exceeded limit, or `undefined` if the text is within all of them.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { jsonExcess } from "./json_bounds.ts";
 *
 * const bounds = { depth: 2, values: 5, members: 5 };
 * assertEquals(jsonExcess('{"a":[1]}', bounds), undefined);
 * assertEquals(jsonExcess("[[[]]]", bounds), "depth");
 * ```
 */
export function jsonExcess(
  json: string,
  bounds: JsonBounds,
  findings?: JsonFindings,
): JsonExcess | undefined {
  if (findings === undefined && isSmall(json, bounds)) return undefined;
  const members = new Int32Array(bounds.depth + 1);
  let depth = 0;
  let values = 1;
  let digits = 0;
  let lastDigit = -1;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    switch (code) {
      case QUOTE: {
        const start = at + 1;
        at = endOfText(json, at);
        if (findings !== undefined && at - start >= findings.minChars) {
          findings.texts.push({ start, end: at });
        }
        break;
      }
      case COMMA:
        if (++values > bounds.values) return "values";
        break;
      case COLON:
        if (++members[depth]! > bounds.members) return "members";
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth > bounds.depth) return "depth";
        members[depth] = 0;
        // each comma counts one more value, and the opening bracket the first one, if any
        if (isEmpty(json, at)) break;
        if (++values > bounds.values) return "values";
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (depth > 0) depth--;
        break;
      default:
        if (findings === undefined || code < ZERO || code > NINE) break;
        digits = lastDigit === at - 1 ? digits + 1 : 1;
        lastDigit = at;
        if (digits === LONG_DIGITS) findings.longDigits = true;
    }
  }
  return undefined;
}

/** Whether a text has too few characters for the other bounds, and too few brackets to be too deep, strings included. */
function isSmall(json: string, { depth, values, members }: JsonBounds): boolean {
  if (json.length >= Math.min(values, members)) return false;
  let brackets = 0;
  for (const bracket of ["{", "["]) {
    for (let at = json.indexOf(bracket); at >= 0; at = json.indexOf(bracket, at + 1)) {
      if (++brackets > depth) return false;
    }
  }
  return true;
}

/** Whether the array or object opened at `at` is closed by the next character. */
function isEmpty(json: string, at: number): boolean {
  const next = json.charCodeAt(at + 1);
  return next === CLOSE_ARRAY || next === CLOSE_OBJECT;
}
