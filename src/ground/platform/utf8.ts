import { isAscii } from "node:buffer";

const strict = new TextDecoder("utf-8", { fatal: true });
const lenient = new TextDecoder();

/** What a lenient decoder writes instead of invalid bytes. */
const REPLACEMENT = "\ufffd";
/** Longer texts are decoded strictly unless they are ASCII, which the lenient decoder is faster with on either Deno. */
const SHORT_BYTES = 4_096;

/**
 * Decodes UTF-8 strictly. For short texts, a lenient decoder that replaced nothing does the same at a third of the cost.
 *
 * @param bytes The text in UTF-8; a byte order mark at its beginning is dropped.
 * @throws {TypeError} If it is not UTF-8.
 *
 * @example
 * ```ts
 * import { assertEquals, assertThrows } from "@std/assert";
 * import { decodeUtf8 } from "./utf8.ts";
 *
 * assertEquals(decodeUtf8(Uint8Array.of(0xc3, 0xa9)), "é");
 * assertThrows(() => decodeUtf8(Uint8Array.of(0xc3)), TypeError);
 * ```
 */
export function decodeUtf8(bytes: Uint8Array): string {
  if (bytes.byteLength > SHORT_BYTES) return (isAscii(bytes) ? lenient : strict).decode(bytes);
  const text = lenient.decode(bytes);
  return text.includes(REPLACEMENT) ? strict.decode(bytes) : text;
}
