/** Floods of HTTP/2, with prior knowledge or by an upgrade. */

import type { Random } from "../fake/random.ts";
import { anyKey } from "./requests.ts";
import {
  anySize,
  chain,
  joined,
  type Kind,
  latin,
  made,
  type Plan,
  repeated,
  send,
  type Step,
  type Target,
} from "./steps.ts";

export const HTTP2_KINDS: readonly Kind[] = [
  { name: "http/2", plan: (random, target) => flood(random, target, "prior knowledge") },
  { name: "http/2, cut preface", plan: (random, target) => flood(random, target, "cut preface") },
  { name: "http/2 by upgrade", plan: (random, target) => flood(random, target, "upgrade") },
];

type Way = "prior knowledge" | "cut preface" | "upgrade";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA = 0;
const HEADERS = 1;
const PRIORITY = 2;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const CONTINUATION = 9;
const END_STREAM = 1;
const END_HEADERS = 4;
const EMPTY = new Uint8Array();

/** A frame (RFC 9113, section 4.1). */
function frame(
  kind: number,
  flags: number,
  stream: number,
  payload = EMPTY,
): Uint8Array<ArrayBuffer> {
  const head = new DataView(new ArrayBuffer(9));
  head.setUint32(0, payload.length << 8 | kind);
  head.setUint8(4, flags);
  head.setUint32(5, stream);
  return joined([new Uint8Array(head.buffer), payload]);
}

/** A field that is written out, its name from the static table by a short index (RFC 7541, section 6.2). */
function field(first: number, value: string): string {
  return `${String.fromCharCode(first)}${String.fromCharCode(value.length)}${value}`;
}

/** A header block for a path: indexed where the static table has it, written out otherwise. */
function block(random: Random, target: Target): Uint8Array<ArrayBuffer> {
  const method = random.pick(["\x82", "\x83"]);
  const path = random.pick(["/", "/v1/responses", "/v1/chat/completions", "/healthz"]);
  const { line } = anyKey(random, target);
  const key = line.split(": ")[1]?.trim() ?? "";
  const authority = field(0x41, target.host);
  // 15 + 8 is the index of `authorization` in a field that is not to be indexed
  const authorization = key === "" ? "" : `\x0f\x08${String.fromCharCode(key.length)}${key}`;
  return latin(
    `${method}\x86${path === "/" ? "\x84" : field(0x44, path)}${authority}${authorization}`,
  );
}

const OPENING: Readonly<Record<Way, (target: Target, cutAt: number) => Step[]>> = {
  "prior knowledge": () => [send(PREFACE)],
  "cut preface": (_, cutAt) => [
    send(PREFACE.slice(0, cutAt)),
    { does: "wait", ms: 30 },
    send(PREFACE.slice(cutAt)),
  ],
  upgrade: ({ host }) => [
    send(
      `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nconnection: upgrade, http2-settings\r\n` +
        "upgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n\r\n",
    ),
    { does: "await reply", withinMs: 500 },
    send(PREFACE),
  ],
};

function flood(random: Random, target: Target, way: Way): Plan {
  const cutAt = random.integer(1, PREFACE.length - 1);
  const bytes = anySize(random, 6, 24);
  const headers = block(random, target);
  const streamOf = (at: number) => (2 * at + 1) & 0x7fffffff;
  const window = latin("\0\0\x7f\xff");
  const filler = latin("\0\x01x\x01y".repeat(2_000));
  const [what, steps] = random.pick<readonly [string, () => Iterable<Step>]>([
    ["SETTINGS", () => repeated(frame(SETTINGS, 0, 0), bytes)],
    [
      "SETTINGS with values",
      () => repeated(frame(SETTINGS, 0, 0, latin("\0\x01\0\0\x10\0".repeat(20))), bytes),
    ],
    ["acknowledgements", () => repeated(frame(SETTINGS, 1, 0), bytes)],
    ["PING", () => repeated(frame(PING, 0, 0, latin("abcdefgh")), bytes)],
    ["WINDOW_UPDATE", () => repeated(frame(WINDOW_UPDATE, 0, 0, latin("\0\0\0\x01")), bytes)],
    ["WINDOW_UPDATE beyond its bound", () => repeated(frame(WINDOW_UPDATE, 0, 0, window), bytes)],
    [
      "PRIORITY",
      () => made((at) => frame(PRIORITY, 0, streamOf(at), latin("\0\0\0\0\x10")), bytes),
    ],
    [
      "RST_STREAM of idle streams",
      () => made((at) => frame(RST_STREAM, 0, streamOf(at), latin("\0\0\0\x08")), bytes),
    ],
    ["rapid reset", () =>
      made((at) =>
        joined([
          frame(HEADERS, END_STREAM | END_HEADERS, streamOf(at), headers),
          frame(RST_STREAM, 0, streamOf(at), latin("\0\0\0\x08")),
        ]), bytes)],
    [
      "requests",
      () => made((at) => frame(HEADERS, END_STREAM | END_HEADERS, streamOf(at), headers), bytes),
    ],
    [
      "requests without an end",
      () => made((at) => frame(HEADERS, END_HEADERS, streamOf(at), headers), bytes),
    ],
    [
      "CONTINUATION",
      () =>
        chain(
          send(frame(HEADERS, END_STREAM, 1, headers)),
          repeated(frame(CONTINUATION, 0, 1, filler), bytes),
        ),
    ],
    [
      "empty CONTINUATION",
      () =>
        chain(
          send(frame(HEADERS, END_STREAM, 1, headers)),
          repeated(frame(CONTINUATION, 0, 1), bytes),
        ),
    ],
    [
      "empty DATA",
      () =>
        chain(send(frame(HEADERS, END_HEADERS, 1, headers)), repeated(frame(DATA, 0, 1), bytes)),
    ],
    ["DATA", () =>
      chain(
        send(frame(HEADERS, END_HEADERS, 1, headers)),
        repeated(frame(DATA, 0, 1, new Uint8Array(16_384)), bytes),
      )],
    ["GOAWAY", () => repeated(frame(GOAWAY, 0, 0, new Uint8Array(8)), bytes)],
    ["unknown frames", () => repeated(frame(0x42, 0, 0, new Uint8Array(100)), bytes)],
    [
      "a frame of 16 MB",
      () => chain(send(latin("\xff\xff\xff\0\0\0\0\0\x01")), repeated("x", bytes)),
    ],
  ]);
  const cut = way === "cut preface" ? ` at ${cutAt}` : "";
  return {
    told: `${way}${cut}, ${what}, ${bytes} bytes`,
    steps: chain(OPENING[way](target, cutAt), send(frame(SETTINGS, 0, 0)), steps()),
  };
}
