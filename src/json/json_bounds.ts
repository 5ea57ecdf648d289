import { endOfText } from "./exact_json.ts";

/** Bounds of a JSON text, checked before it is parsed. */
export interface JsonBounds {
  /** Levels of arrays and objects. */
  readonly depth: number;
  /** Values of all kinds: arrays, objects, texts, numbers. An empty one with white space in it counts as two. */
  readonly values: number;
  /** Members of one object. */
  readonly members: number;
}

/** Which bound a text exceeds. */
export type JsonExcess = keyof JsonBounds;

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/**
 * Finds the first bound that a JSON text exceeds, in one pass without allocation: parsing a few megabytes
 * of `[{},{},…]` takes gigabytes and seconds, and so does walking them.
 *
 * @param json Need not be valid; decoded as UTF-8, or as Latin-1 for speed.
 * @returns undefined when the text is within bounds.
 *
 * @example
 * ```ts
 * import { jsonExcess } from "./json_bounds.ts";
 *
 * const bounds = { depth: 2, values: 5, members: 5 };
 * jsonExcess('{"a":[1]}', bounds); // undefined
 * jsonExcess("[[[]]]", bounds); // "depth"
 * ```
 */
export function jsonExcess(json: string, bounds: JsonBounds): JsonExcess | undefined {
  const members = new Int32Array(bounds.depth + 1);
  let depth = 0;
  let values = 1;
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE:
        at = endOfText(json, at);
        break;
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
        // each comma stands for one more value, and the opening for the first, if there is one
        if (isEmpty(json, at)) break;
        if (++values > bounds.values) return "values";
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (depth > 0) depth--;
    }
  }
  return undefined;
}

/** Whether what is opened is closed at once. */
function isEmpty(json: string, at: number): boolean {
  const next = json.charCodeAt(at + 1);
  return next === CLOSE_ARRAY || next === CLOSE_OBJECT;
}
