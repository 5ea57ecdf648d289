import type { Random } from "../fake/random.ts";
import type { Upload } from "./exchange.ts";

const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
const objects = (bytes: number) => `[${"{},".repeat(bytes / 3)}{}]`;
const ONE = '[{"role":"user","content":"Hi"}]';

/** Bodies that are dear to look at, by name; each of about that size. */
export const HOSTILE_BODIES: Readonly<Record<string, (bytes: number) => string>> = {
  messages: (bytes) => `"messages":${objects(bytes)}`,
  parts: (bytes) => `"messages":[{"role":"user","content":${objects(bytes)}}]`,
  tools: (bytes) => `"messages":${ONE},"tools":${objects(bytes)}`,
  "an unknown field": (bytes) => `"messages":${ONE},"x":${objects(bytes)}`,
  "many keys": (bytes) => {
    const keys = Array.from({ length: bytes / 10 }, (_, at) => `"${at.toString(36)}k":1,`).join("");
    return `${keys}"messages":${ONE}`;
  },
  "many keys in a message": (bytes) => {
    const keys = Array.from({ length: bytes / 10 }, (_, at) => `"${at.toString(36)}k":1,`).join("");
    return `"messages":[{${keys}"role":"user","content":"Hi"}]`;
  },
  depth: (bytes) => `"messages":${nested(bytes / 2)}`,
  "depth in an unknown field": (bytes) => `"messages":${ONE},"x":${nested(bytes / 2)}`,
  "no end": (bytes) => `"messages":[{"role":"user","content":"${"a".repeat(bytes)}`,
  "a lone surrogate": (bytes) =>
    `"messages":[{"role":"user","content":"${"\\ud83d".repeat(bytes / 6)}"}]`,
};

/** How many bytes a hostile body has: mostly hundreds of KB, seldom two MB. */
export function hostileBytes(random: Random): number {
  return random.next() < 0.1 ? 2_000_000 : random.integer(50_000, 500_000);
}

const waits = { pauseMs: 0, then: "waits", belowHttp: false } as const;
const chunked = "transfer-encoding: chunked";
const chunk = (text: string, extension = "") =>
  `${text.length.toString(16)}${extension}\r\n${text}\r\n`;

/** A correct body of unknown length, in one write, as small clients send it. */
export function chunkedUpload(body: string, random: Random): Upload {
  const whole = `${chunk(body)}0\r\n\r\n`;
  const at = random.integer(1, whole.length - 1);
  const pieces = random.next() < 0.5 ? [whole] : [whole.slice(0, at), whole.slice(at)];
  return { ...waits, framing: [chunked], pieces, pauseMs: random.pick([0, 0, 5, 30]) };
}

/** Uploads that are not what they say, by name. */
export const HOSTILE_UPLOADS: Readonly<Record<string, (body: string) => Upload>> = {
  "longer than it comes": (body) => ({
    ...waits,
    framing: [`content-length: ${body.length + 1_000}`],
    pieces: [body],
    belowHttp: true,
  }),
  "far longer than it comes": (body) => ({
    ...waits,
    framing: [`content-length: ${40 * 1_048_576}`],
    pieces: [body],
    belowHttp: true,
  }),
  "shorter than it comes": (body) => ({
    ...waits,
    framing: [`content-length: ${body.length - 5}`],
    pieces: [body],
    belowHttp: true,
  }),
  "two lengths": (body) => ({
    ...waits,
    framing: [`content-length: ${body.length}`, `content-length: ${body.length + 1}`],
    pieces: [body],
    belowHttp: true,
  }),
  "no number": (body) => ({
    ...waits,
    framing: ["content-length: many"],
    pieces: [body],
    belowHttp: true,
  }),
  "closed without its last chunk": (body) => ({
    ...waits,
    framing: [chunked],
    pieces: [chunk(body)],
    pauseMs: 5,
    then: "closes its side",
    belowHttp: true,
  }),
  "closed within a chunk": (body) => ({
    ...waits,
    framing: [chunked],
    pieces: [`fffff\r\n${body}`],
    pauseMs: 5,
    then: "closes its side",
    belowHttp: true,
  }),
  "no chunk size": (body) => ({
    ...waits,
    framing: [chunked],
    pieces: [`zz\r\n${body}\r\n0\r\n\r\n`],
    pauseMs: 5,
    belowHttp: true,
  }),
  "a long chunk extension": (body) => ({
    ...waits,
    framing: [chunked],
    pieces: [`${chunk(body, `;${"x".repeat(30_000)}`)}0\r\n\r\n`],
    pauseMs: 5,
    belowHttp: true,
  }),
  "no UTF-8": (body) => ({
    ...waits,
    framing: [`content-length: ${body.length + 3}`],
    pieces: [body.slice(0, -2), new Uint8Array([0xff, 0xfe, 0x80]), body.slice(-2)],
  }),
};
