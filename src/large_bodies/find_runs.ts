import { MIN_CHARS } from "./detached_base64.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const PADDING = 0x3d;

/** Characters between a string's beginning and its base64: those of a `data:` address. */
const MOST_PREFIX_CHARS = 256;
const BASE64_MARK = new TextEncoder().encode(";base64,");

const IS_BASE64 = new Uint8Array(256);
for (const char of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
  IS_BASE64[char.charCodeAt(0)] = 1;
}

/**
 * Finds the long runs of base64 in a JSON text.
 *
 * A run reaches from a string's beginning, or from behind its `;base64,`, to its end. Anything that is
 * unusual, such as an escape or a space in it, leaves the string as it is: then it is read as any other.
 *
 * @param json Not known to be a valid JSON text.
 */
export function findRuns(json: Uint8Array): { readonly start: number; readonly end: number }[] {
  const runs = [];
  for (let open = json.indexOf(QUOTE); open >= 0;) {
    const start = runStart(json, open + 1);
    const end = runEnd(json, start);
    if (json[end] === QUOTE && end - start >= MIN_CHARS && (end - start) % 4 === 0) {
      runs.push({ start, end });
    }
    const close = stringEnd(json, end);
    open = close < 0 ? -1 : json.indexOf(QUOTE, close + 1);
  }
  return runs;
}

/** Where base64 would begin in the string whose text begins at `from`. */
function runStart(json: Uint8Array, from: number): number {
  const isData = json[from] === 0x64 && json[from + 1] === 0x61; // "da"
  if (!isData) return from;
  const last = Math.min(json.length, from + MOST_PREFIX_CHARS) - BASE64_MARK.length;
  for (let at = from; at <= last; at++) {
    if (json[at] === QUOTE || json[at] === BACKSLASH) break;
    if (BASE64_MARK.every((code, index) => json[at + index] === code)) {
      return at + BASE64_MARK.length;
    }
  }
  return from;
}

/** The first byte from `from` on that is no base64, padding at the end allowed. */
function runEnd(json: Uint8Array, from: number): number {
  let at = from;
  while (IS_BASE64[json[at]!] === 1) at++;
  for (let padding = 0; padding < 2 && json[at] === PADDING; padding++) at++;
  return at;
}

/** Where the string that reaches beyond `from` is closed; -1 when it is not. */
function stringEnd(json: Uint8Array, from: number): number {
  for (let at = from;; at++) {
    if (json[at] === QUOTE) return at;
    if (json[at] === BACKSLASH) at++;
    else if (at >= json.length) return -1;
  }
}
