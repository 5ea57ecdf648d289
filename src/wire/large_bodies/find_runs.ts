import type { JsonFindings } from "../json/mod.ts";
import { MIN_CHARS } from "./detached_base64.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const PADDING = 0x3d;

/** Characters between a string's beginning and its base64: those of a `data:` address. */
const MAX_PREFIX_CHARS = 256;
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
 * @param texts Its strings of at least {@linkcode MIN_CHARS}: a short one holds no long run.
 */
export function findRuns(json: Uint8Array, texts: JsonFindings["texts"]): JsonFindings["texts"] {
  const runs = [];
  for (const text of texts) {
    const start = runStart(json, text.start);
    const end = runEnd(json, start);
    if (json[end] === QUOTE && end - start >= MIN_CHARS && (end - start) % 4 === 0) {
      runs.push({ start, end });
    }
  }
  return runs;
}

/** Where base64 would begin in the string whose text begins at `from`. */
function runStart(json: Uint8Array, from: number): number {
  const isData = json[from] === 0x64 && json[from + 1] === 0x61; // "da"
  if (!isData) return from;
  const last = Math.min(json.length, from + MAX_PREFIX_CHARS) - BASE64_MARK.length;
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
