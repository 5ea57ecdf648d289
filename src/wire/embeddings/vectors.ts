import { Buffer } from "node:buffer";

/** One embedding. */
export type Vector = Float64Array | Float32Array;

/**
 * Writes a vector as clients get it with `encoding_format: "base64"`: its numbers as 32-bit floats,
 * little-endian, as every machine has them that Deno runs on.
 *
 * @returns Base64.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { decodeVector, encodeVector } from "./vectors.ts";
 *
 * assertEquals(encodeVector(new Float64Array([1, -2])), "AACAPwAAAMA=");
 * assertEquals(decodeVector("AACAPwAAAMA="), new Float32Array([1, -2]));
 * ```
 */
export function encodeVector(vector: Vector): string {
  return Buffer.from(new Float32Array(vector).buffer).toString("base64");
}

/**
 * Reads a vector that {@linkcode encodeVector} has written.
 *
 * @param base64 Base64 of 32-bit floats, little-endian.
 * @returns The numbers; `undefined` if the text is anything else.
 */
export function decodeVector(base64: string): Float32Array | undefined {
  if (base64.length % 4 !== 0 || !BASE64.test(base64)) return undefined;
  const bytes = Buffer.from(base64, "base64");
  if (bytes.byteLength % Float32Array.BYTES_PER_ELEMENT !== 0) return undefined;
  return new Float32Array(new Uint8Array(bytes).buffer);
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
