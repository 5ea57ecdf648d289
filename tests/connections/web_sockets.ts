/** WebSockets of responses: handshakes, and frames that are cut, endless, unmasked or too long. */

import type { Random } from "../fake/random.ts";
import { anyKey, jsonBody } from "./requests.ts";
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

export const WEB_SOCKET_KINDS: readonly Kind[] = [
  { name: "websocket handshake", plan: handshake },
  { name: "websocket frames", plan: (random, target) => framesPlan(random, target, FLOODS) },
  { name: "websocket turns", plan: (random, target) => framesPlan(random, target, TURNS) },
];

const CONTINUATION = 0;
const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const LAST = 0x80;

interface FrameOptions {
  readonly isLast?: boolean;
  /** The four bytes of its mask; undefined leaves it unmasked, which is forbidden. */
  readonly mask: Uint8Array | undefined;
  /** The length that it declares, if not its own. */
  readonly declared?: bigint;
}

/** A frame (RFC 6455, section 5.2). */
function frame(
  kind: number,
  payload: Uint8Array<ArrayBuffer>,
  { isLast = true, mask, declared = BigInt(payload.length) }: FrameOptions,
): Uint8Array<ArrayBuffer> {
  const bit = mask === undefined ? 0 : 0x80;
  const head = new DataView(new ArrayBuffer(10));
  head.setUint8(0, (isLast ? LAST : 0) | kind);
  const headBytes = declared < 126n ? 2 : declared < 65_536n ? 4 : 10;
  head.setUint8(1, bit | (headBytes === 2 ? Number(declared) : headBytes === 4 ? 126 : 127));
  if (headBytes === 4) head.setUint16(2, Number(declared));
  if (headBytes === 10) head.setBigUint64(2, declared);
  const masked = mask === undefined ? payload : payload.map((byte, at) => byte ^ mask[at % 4]!);
  return joined([
    new Uint8Array(head.buffer, 0, headBytes),
    mask === undefined ? new Uint8Array() : Uint8Array.from(mask),
    masked,
  ]);
}

const KEY = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

function opening({ host }: Target, keyLine: string): Step[] {
  return [
    send(
      `GET /v1/responses HTTP/1.1\r\nhost: ${host}\r\n${keyLine}connection: Upgrade\r\n` +
        `upgrade: websocket\r\nsec-websocket-version: 13\r\n${KEY}\r\n`,
    ),
    { does: "await reply", withinMs: 3_000 },
  ];
}

/** A handshake that is wrong in one way, and what follows it. */
function handshake(random: Random, target: Target): Plan {
  const { who, line } = anyKey(random, target);
  const lines = [
    `host: ${target.host}\r\n`,
    line,
    random.pick([
      "connection: Upgrade\r\n",
      "connection: close\r\n",
      "connection: keep-alive, upgrade\r\n",
      "",
    ]),
    random.pick(["upgrade: websocket\r\n", "upgrade: WEBSOCKET, h2c\r\n", ""]),
    random.pick([
      "sec-websocket-version: 13\r\n",
      "sec-websocket-version: 8\r\n",
      "sec-websocket-version: 13, 8\r\n",
      "",
    ]),
    random.pick([
      KEY,
      "sec-websocket-key: x\r\n",
      `sec-websocket-key: ${"A".repeat(3_000)}\r\n`,
      "",
    ]),
    random.pick(["", "sec-websocket-extensions: permessage-deflate; client_max_window_bits\r\n"]),
    random.pick(["", "sec-websocket-protocol: a, b, c\r\n"]),
    random.pick(["", "", "content-length: 10\r\n", "transfer-encoding: chunked\r\n"]),
  ].join("");
  const waits = random.next() < 0.5;
  const bytes = anySize(random, 0, 21);
  const mask = Uint8Array.of(1, 2, 3, 4);
  return {
    told: `${who}, ${JSON.stringify(lines.slice(lines.indexOf("connection")))}, ${
      waits ? "waits" : "does not wait"
    }, ${bytes} bytes of pings`,
    steps: chain(
      send(`GET /v1/responses HTTP/1.1\r\n${lines}\r\n`),
      waits ? [{ does: "await reply", withinMs: 1_000 } satisfies Step] : [],
      repeated(frame(PING, latin("x"), { mask }), bytes),
    ),
  };
}

/** Makes the steps behind a handshake, of about this many bytes. */
type Frames = (random: Random, bytes: number, mask: Uint8Array | undefined) => Iterable<Step>;

const text = (length: number) => latin("x".repeat(length));

const FLOODS: Readonly<Record<string, Frames>> = {
  "fragments of a byte": (_, bytes, mask) =>
    chain(
      send(frame(TEXT, text(1), { isLast: false, mask })),
      repeated(frame(CONTINUATION, text(1), { isLast: false, mask }), bytes),
    ),
  "fragments of nothing": (_, bytes, mask) =>
    chain(
      send(frame(TEXT, text(0), { isLast: false, mask })),
      repeated(frame(CONTINUATION, text(0), { isLast: false, mask }), bytes),
    ),
  "large fragments": (_, bytes, mask) =>
    chain(
      send(frame(BINARY, text(1), { isLast: false, mask })),
      repeated(frame(CONTINUATION, text(60_000), { isLast: false, mask }), bytes),
    ),
  "fragments that begin again": (_, bytes, mask) =>
    repeated(frame(TEXT, text(100), { isLast: false, mask }), bytes),
  "continuations of nothing": (_, bytes, mask) =>
    repeated(frame(CONTINUATION, text(10), { mask }), bytes),
  "huge length": (random, bytes, mask) =>
    chain(
      send(frame(TEXT, text(5), {
        mask,
        declared: random.pick([
          65_536n,
          67_108_865n,
          2n ** 31n,
          2n ** 32n + 5n,
          2n ** 63n,
          2n ** 64n - 1n,
        ]),
      })),
      repeated("x", bytes),
    ),
  pings: (random, bytes, mask) =>
    repeated(frame(PING, text(random.pick([0, 1, 125])), { mask }), bytes),
  pongs: (_, bytes, mask) => repeated(frame(PONG, text(4), { mask }), bytes),
  "long pings": (_, bytes, mask) => repeated(frame(PING, text(126), { mask }), bytes),
  "fragmented pings": (_, bytes, mask) =>
    repeated(frame(PING, text(3), { isLast: false, mask }), bytes),
  "half a frame": (random, _, mask) => {
    const whole = frame(TEXT, text(70_000), { mask });
    return [send(whole.subarray(0, random.integer(1, whole.length - 1)))];
  },
  "frames of a byte": (random, bytes, mask) =>
    repeated(frame(random.pick([TEXT, BINARY]), text(1), { mask }), bytes),
  "empty frames": (random, bytes, mask) =>
    repeated(frame(random.pick([TEXT, BINARY]), text(0), { mask }), bytes),
  "reserved kinds": (random, bytes, mask) =>
    repeated(frame(random.pick([3, 7, 11, 15]), text(5), { mask }), bytes),
  "reserved bits": (random, bytes, mask) =>
    repeated(frame(random.pick([0x10, 0x20, 0x40]) | TEXT, text(5), { mask }), bytes),
  closes: (random, bytes, mask) =>
    repeated(
      frame(CLOSE, latin(random.pick(["", "\x03", "\x03\xe8", "\0\0x", "\x03\xe8\xff\xfe"])), {
        mask,
      }),
      bytes,
    ),
  "text that is no UTF-8": (_, bytes, mask) =>
    repeated(frame(TEXT, latin("\xff\xfe\xfd"), { mask }), bytes),
  noise: (random, bytes) =>
    made(
      () => Uint8Array.from({ length: 512 }, () => random.integer(0, 255)),
      Math.min(bytes, 500_000),
    ),
};

/** Messages that are requests: too many at once, large ones, such as are not read. */
const TURNS: Readonly<Record<string, Frames>> = {
  "turns that do not wait": (_, bytes, mask) =>
    repeated(turn("Hi [[say hello]]", mask), Math.min(bytes, 500_000)),
  "long turns": (_, _bytes, mask) =>
    chain(send(turn("[[tokens 20000]] [[pace 0ms]]", mask)), { does: "wait", ms: 3_000 }),
  "large turns": (_, bytes, mask) => {
    const size = Math.min(bytes, 4_000_000);
    return chain(
      ...Array.from({ length: 3 }, () => [
        send(turn(`${"word ".repeat(size / 5)}[[say hello]]`, mask)),
        { does: "wait", ms: 1_000 } satisfies Step,
      ]),
    );
  },
  "invalid turns": (random, bytes, mask) =>
    repeated(
      frame(TEXT, latin(random.pick(["{}", "[", "null", '{"type":"x"}', "[".repeat(10_000)])), {
        mask,
      }),
      Math.min(bytes, 1_000_000),
    ),
};

function turn(input: string, mask: Uint8Array | undefined): Uint8Array<ArrayBuffer> {
  const body = jsonBody("/v1/responses", { type: "response.create", model: "long", input });
  return frame(TEXT, latin(body), { mask });
}

function framesPlan(random: Random, target: Target, table: Readonly<Record<string, Frames>>): Plan {
  const { who, line } = random.next() < 0.8
    ? { who: "valid key", line: `authorization: Bearer ${random.pick(target.keys.valid)}\r\n` }
    : anyKey(random, target);
  const what = random.pick(Object.keys(table));
  const isMasked = random.next() < 0.85;
  const mask = isMasked ? Uint8Array.from({ length: 4 }, () => random.integer(0, 255)) : undefined;
  const bytes = anySize(random, 4, 24);
  return {
    told: `${who}, ${what}, ${isMasked ? "masked" : "not masked"}, ${bytes} bytes`,
    steps: chain(opening(target, line), table[what]!(random, bytes, mask)),
  };
}
