import type { Buffer } from "node:buffer";
import { HttpFault, invalid } from "./http_fault.ts";

/** Max bytes of the first line and header fields of a response. */
export const MAX_HEAD_BYTES = 32_768;
const MAX_FIELDS = 256;

/** How long a connection is kept whose server does not say how long it keeps it. */
const KEEP_MS = 4_000;
/** So much earlier than the server a connection is given up, since a request takes time to get there. */
const KEEP_MARGIN_MS = 2_000;
const MAX_KEEP_MS = 600_000;

const LF = 10;
const CR = 13;
const SPACE = 32;
const TAB = 9;
const START = new TextEncoder().encode("HTTP/1.");
/** Of which the reason phrase, with the space before it, may be missing. Its version and status are always at the same places. */
const STATUS_LINE = /HTTP\/1\.[01] [1-9]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?\r\n/y;
const MINOR_AT = 7;
const STATUS_AT = 9;
const STATUS_CHARS = 3;
/**
 * No space before the colon, no folded lines, no control characters (RFC 9112, 5; RFC 9110, 5.5). Spaces are matched in one way only, or
 * a line full of them would take time that grows with the square of its length.
 */
const FIELD =
  /[!#$%&'*+.^_`|~0-9A-Za-z-]+:[ \t]*(?:[!-~\x80-\xff]+(?:[ \t]+[!-~\x80-\xff]+)*[ \t]*)?\r\n/y;
/** Of which all are exact numbers. */
const LENGTH = /^\d{1,15}$/;

/** Header fields by their names in lower case; a list where one came more than once. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Where the body of a response ends: after a number of bytes, by its chunks, or with the connection. */
export type BodyEnd = number | "chunked" | "close";

/** First line and header fields of a response. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: Headers;
  /** Meaningless below 200. */
  readonly bodyEnd: BodyEnd;
  /** How long its connection may be idle to be used again; 0 for never. */
  readonly keepMs: number;
}

/**
 * Finds the end of a head.
 *
 * @param from From where on it was not searched yet.
 * @returns The place after it; -1 if more is to come.
 * @throws {HttpFault} If this is not a head of HTTP/1.x, or is too large.
 */
export function endOfHead(bytes: Uint8Array, start: number, end: number, from: number): number {
  const known = Math.min(START.length, end - start);
  for (let at = 0; at < known; at++) {
    if (bytes[start + at] !== START[at]) throw invalid("its first line");
  }
  for (let at = from; at < end; at++) {
    if (bytes[at] !== LF) continue;
    if (bytes[at - 1] !== CR) throw invalid("a line feed by itself");
    if (at - start >= MAX_HEAD_BYTES) break;
    if (bytes[at - 2] === LF) return at + 1;
  }
  if (end - start < MAX_HEAD_BYTES) return -1;
  throw new HttpFault("ERR_REPLY_HEAD_SIZE", "the headers of the response are too large");
}

/** An object without a prototype that V8 gives a shape, as it does not do for `Object.create(null)`. */
const Fields = function () {} as unknown as new () => Record<string, string | string[]>;
Fields.prototype = Object.create(null);

/**
 * Reads a whole head. What leaves in doubt where the body ends is an error (RFC 9112, section 6.3): several lengths, a length beside
 * chunks, a transfer coding other than chunks alone.
 *
 * @throws {HttpFault} If a rule is broken.
 */
export function parseHead(bytes: Buffer, start: number, end: number): ResponseHead {
  const text = bytes.toString("latin1", start, end);
  STATUS_LINE.lastIndex = 0;
  if (!STATUS_LINE.test(text)) throw invalid("its first line");
  const headers = new Fields();
  FIELD.lastIndex = STATUS_LINE.lastIndex;
  for (let count = 0; FIELD.lastIndex < text.length - 2; count++) {
    const fieldStart = FIELD.lastIndex;
    if (!FIELD.test(text)) throw invalid("a header field");
    if (count === MAX_FIELDS) throw invalid("too many header fields");
    const colon = text.indexOf(":", fieldStart);
    const name = text.slice(fieldStart, colon).toLowerCase();
    const value = valueIn(text, colon + 1, FIELD.lastIndex - 2);
    const before = headers[name];
    if (before === undefined) headers[name] = value;
    else if (typeof before === "string") headers[name] = [before, value];
    else before.push(value);
  }
  const status = Number(text.slice(STATUS_AT, STATUS_AT + STATUS_CHARS));
  const isOld = text[MINOR_AT] === "0";
  const bodyEnd = bodyEndOf(status, headers);
  const isSure = bodyEnd !== "close" && !(isOld && bodyEnd === "chunked") &&
    !(hasNoBody(status) && (headers["content-length"] ?? "0") !== "0");
  return { status, headers, bodyEnd, keepMs: isSure ? keepMsOf(headers, isOld) : 0 };
}

/** Without spaces around it; others than those of ASCII are part of it. */
function valueIn(text: string, start: number, end: number): string {
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (start < end && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

function hasNoBody(status: number): boolean {
  return status === 204 || status === 304;
}

function bodyEndOf(status: number, headers: Headers): BodyEnd {
  const { "content-length": length, "transfer-encoding": coding } = headers;
  if (coding !== undefined) {
    if (length !== undefined) throw invalid("a length beside a transfer coding");
    if (typeof coding !== "string" || coding.toLowerCase() !== "chunked" || hasNoBody(status)) {
      throw invalid("its transfer coding");
    }
    return "chunked";
  }
  if (length !== undefined && !(typeof length === "string" && LENGTH.test(length))) {
    throw invalid("its length");
  }
  if (hasNoBody(status)) return 0;
  return length === undefined ? "close" : Number(length);
}

function keepMsOf(headers: Headers, isOld: boolean): number {
  const { connection, "keep-alive": keepAlive } = headers;
  if (connection !== undefined && connection !== "keep-alive" || isOld) {
    const options = String(connection ?? "").toLowerCase().split(",").map((one) => one.trim());
    if (options.includes("close") || isOld && !options.includes("keep-alive")) return 0;
  }
  if (keepAlive === undefined) return KEEP_MS;
  const [, seconds] = /(?:^|[,;\s])timeout\s*=\s*"?(\d{1,9})/i.exec(String(keepAlive)) ?? [];
  if (seconds === undefined) return KEEP_MS;
  return Math.min(Math.max(0, Number(seconds) * 1_000 - KEEP_MARGIN_MS), MAX_KEEP_MS);
}
