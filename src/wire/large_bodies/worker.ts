/// <reference no-default-lib="true" />
/// <reference lib="deno.worker" />
/** The thread that looks at each byte of what is large: milliseconds, in which nobody else waits. */

import { Buffer, isAscii } from "node:buffer";
import { examine } from "../pixels/mod.ts";
import { jsonExcess, JsonFindings } from "../json/mod.ts";
import { MIN_CHARS } from "./detached_base64.ts";
import { findRuns } from "./find_runs.ts";
import type { Answer, Ask } from "./protocol.ts";

const encoder = new TextEncoder();
const ascii = new TextDecoder();

const DECODED_AT_ONCE = 65_536;
/** What an image is decoded into: memory that was used before costs much less than new one. */
let scratch = Buffer.alloc(0);

self.onmessage = ({ data }: MessageEvent<Ask>) => {
  const answer = answerTo(data);
  self.postMessage(answer, [answer.bytes.buffer]);
};

function answerTo(ask: Ask): Answer {
  const { id, bytes, kind } = ask;
  if (kind === "image") {
    const { buffer, byteOffset, byteLength } = bytes;
    const text = Buffer.from(buffer, byteOffset, byteLength).toString("base64");
    const base64 = new Uint8Array(text.length);
    encoder.encodeInto(text, base64);
    return { id, kind, bytes: base64, examined: examine(bytes) };
  }
  const findings = new JsonFindings(MIN_CHARS);
  const excess = jsonExcess(inAscii(bytes), ask.bounds, findings);
  const { longDigits, texts } = findings;
  if (excess !== undefined) return { id, kind, bytes, runs: [], longDigits, excess };
  const runs = findRuns(bytes, texts).map(({ start, end }) => {
    const image = decoded(bytes.subarray(start, end));
    return { start, end, size: image.byteLength, examined: examine(image) };
  });
  return { id, kind, bytes, runs, longDigits, excess };
}

/**
 * A character for each byte, "x" for one outside ASCII: all that is structure in JSON is. The platform decodes ASCII ten
 * times as fast as Latin-1 (Deno 2.9).
 */
function inAscii(bytes: Uint8Array): string {
  if (isAscii(bytes)) return ascii.decode(bytes);
  const words = new Uint32Array(Math.ceil(bytes.byteLength / 4));
  const copy = new Uint8Array(words.buffer);
  copy.set(bytes);
  for (let at = 0; at < words.length; at++) {
    const others = words[at]! >>> 7 & 0x01010101;
    if (others !== 0) words[at] = words[at]! & ~Math.imul(others, 0xff) | Math.imul(others, 0x78);
  }
  return ascii.decode(copy.subarray(0, bytes.byteLength));
}

/** Valid until the next call. */
function decoded(base64: Uint8Array): Uint8Array {
  const most = base64.byteLength / 4 * 3;
  if (scratch.byteLength < most) scratch = Buffer.alloc(most);
  let size = 0;
  for (let at = 0; at < base64.byteLength; at += DECODED_AT_ONCE) {
    size += scratch.write(ascii.decode(base64.subarray(at, at + DECODED_AT_ONCE)), size, "base64");
  }
  return scratch.subarray(0, size);
}
