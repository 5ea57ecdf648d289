import { invalid } from "./http_fault.ts";
import type { BodyEnd } from "./response_head.ts";

const LF = 10;
const CR = 13;
const SEMICOLON = 59;
const COLON = 58;
const NAMES = new Set(
  Array.from("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
    .map((char) => char.charCodeAt(0)),
);
/** Digits of a chunk's size: fewer than make a number inexact. */
const MAX_DIGITS = 12;
/** Max bytes that one chunk has beside its size and data, and max bytes of all trailers. */
const MAX_EXTENSION_BYTES = 1_024;
const MAX_TRAILER_BYTES = 16_384;

/** What comes next in a body in chunks (RFC 9112, section 7.1). */
const enum Next {
  Size,
  Extension,
  SizeEnd,
  Data,
  DataReturn,
  DataEnd,
  TrailerLine,
  TrailerName,
  Trailer,
  TrailerEnd,
  LastEnd,
}

/** Takes the data of a body out of the bytes that come, however they are cut. Trailers are dropped. */
export class BodyPieces {
  readonly #isChunked: boolean;
  /** Bytes of data that are to come: of all, or of the present chunk. */
  #left: number;
  #next = Next.Size;
  #digits = 0;
  #extra = 0;
  #isEnded: boolean;

  constructor(end: BodyEnd) {
    this.#isChunked = end === "chunked";
    this.#left = end === "close" ? Infinity : end === "chunked" ? 0 : end;
    this.#isEnded = end === 0;
  }

  /** Whether all of the body has been. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Whether it ends where its connection ends. */
  get endsByClosing(): boolean {
    return this.#left === Infinity;
  }

  /**
   * Goes through bytes up to the body's end.
   *
   * @param found Gets start and end of each run of data.
   * @returns The place after what belongs to the body.
   * @throws {HttpFault} If they are no chunks.
   */
  walk(bytes: Uint8Array, start: number, end: number, found: number[]): number {
    if (this.#isChunked) return this.#walkChunks(bytes, start, end, found);
    const size = Math.min(this.#left, end - start);
    if (size > 0) found.push(start, start + size);
    this.#left -= size;
    this.#isEnded = this.#left === 0;
    return start + size;
  }

  #walkChunks(bytes: Uint8Array, start: number, end: number, found: number[]): number {
    let at = start;
    while (at < end) {
      if (this.#next === Next.Data) {
        const size = Math.min(this.#left, end - at);
        found.push(at, at + size);
        at += size;
        this.#left -= size;
        if (this.#left === 0) this.#next = Next.DataReturn;
      } else {
        this.#step(bytes[at++]!);
        if (this.#isEnded) return at;
      }
    }
    return at;
  }

  /** Reads one byte of what separates data. */
  #step(byte: number): void {
    switch (this.#next) {
      case Next.Size: {
        const digit = hexDigit(byte);
        if (digit >= 0) {
          if (++this.#digits > MAX_DIGITS) throw invalid("the size of a chunk");
          this.#left = this.#left * 16 + digit;
        } else if (this.#digits === 0) throw invalid("the size of a chunk");
        else if (byte === CR) this.#next = Next.SizeEnd;
        else if (byte === SEMICOLON) this.#next = Next.Extension;
        else throw invalid("the size of a chunk");
        return;
      }
      case Next.Extension:
        if (byte === CR) this.#next = Next.SizeEnd;
        else this.#count(byte, MAX_EXTENSION_BYTES);
        return;
      case Next.SizeEnd:
        this.#expect(byte, LF, this.#left === 0 ? Next.TrailerLine : Next.Data);
        this.#digits = 0;
        this.#extra = 0;
        return;
      case Next.DataReturn:
        return this.#expect(byte, CR, Next.DataEnd);
      case Next.DataEnd:
        return this.#expect(byte, LF, Next.Size);
      case Next.TrailerLine:
        if (byte === CR) {
          this.#next = Next.LastEnd;
          return;
        }
        this.#next = Next.TrailerName;
        return this.#countName(byte);
      case Next.TrailerName:
        if (byte === COLON) this.#next = Next.Trailer;
        else this.#countName(byte);
        return;
      case Next.Trailer:
        if (byte === CR) this.#next = Next.TrailerEnd;
        else this.#count(byte, MAX_TRAILER_BYTES);
        return;
      case Next.TrailerEnd:
        return this.#expect(byte, LF, Next.TrailerLine);
      case Next.LastEnd:
        this.#expect(byte, LF, Next.Size);
        this.#isEnded = true;
    }
  }

  #expect(byte: number, expected: number, next: Next): void {
    if (byte !== expected) throw invalid("the end of a line among its chunks");
    this.#next = next;
  }

  #countName(byte: number): void {
    if (!NAMES.has(byte)) throw invalid("the name of a trailer");
    this.#count(byte, MAX_TRAILER_BYTES);
  }

  /** A byte of an extension or a trailer, which nobody reads. */
  #count(byte: number, max: number): void {
    const isText = byte >= 32 && byte !== 127 || byte === 9;
    if (!isText || ++this.#extra > max) throw invalid("what comes with its chunks");
  }
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}
