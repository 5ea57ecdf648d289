/**
 * Parses JSON without rounding large integers, and checks the size of a JSON text before it is parsed.
 *
 * Promise: `JSON.stringify` of a parsed value reproduces every integer; work is linear in the length of the text.
 * Leaves to others: what a value means.
 *
 * @module
 */

export { isLargeNumber, parseJson } from "./exact_json.ts";
export { type JsonBounds, type JsonExcess, jsonExcess, JsonFindings } from "./json_bounds.ts";
