/**
 * JSON texts: parsed so that no number is rounded, and measured before they are parsed.
 *
 * Promise: what is written again is what was read; work is bounded by a text's length.
 * Leaves to others: what a value means.
 *
 * @module
 */

export { isLargeNumber, parseJson } from "./exact_json.ts";
export { type JsonBounds, type JsonExcess, jsonExcess } from "./json_bounds.ts";
