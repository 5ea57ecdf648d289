import { joinBytes, sizeOf } from "../../ground/platform/mod.ts";
import { parseJson } from "../json/mod.ts";
import type { Examined } from "../pixels/mod.ts";
import type { Run } from "./protocol.ts";

/** Characters of base64 that stay in the text, so that an image's header can be read there. */
const HEAD_CHARS = 65_536;
/** Shorter runs are not detached. */
export const MIN_CHARS = 2 * HEAD_CHARS;

/** Long base64 that was detached from its text. */
export interface LongBase64 {
  /** In ASCII. */
  readonly base64: Uint8Array;
  /** Raw bytes that it stands for. */
  readonly size: number;
  /** What an image in it is. */
  readonly examined: Examined;
}

/** A parsed JSON text. */
export interface JsonBody {
  /** The value, with marks where base64 was detached. */
  readonly json: unknown;
  /** Bytes of the text. */
  readonly bytes: number;
  /** The detached base64; to be released when the body is neither parsed nor sent any more. */
  readonly detached: DetachedBase64;
}

/** Waits for an account's turn to handle {@linkcode CHUNK_BYTES} bytes. */
export type AccountTurn = (account: string) => Promise<void>;

/** A text in UTF-8, in chunks that are sent one after the other. */
export interface ChunkedBody extends AsyncIterable<Uint8Array> {
  /** Bytes in all. */
  readonly size: number;
}

/** Bytes that are scanned or sent at one turn. */
export const CHUNK_BYTES = 131_072;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * The long base64 of one request, detached from its text.
 *
 * In the text remain its first {@linkcode HEAD_CHARS} characters and a mark for the rest. Marks are
 * random for each request, so no client can write one.
 */
export class DetachedBase64 {
  /** Undefined until something is detached: most requests have no long base64. */
  #prefix: string | undefined;
  #detached: LongBase64[] = [];
  readonly #turn: AccountTurn;
  readonly #account: string;
  #held: { release(): void }[] = [];
  #sending = 0;

  /**
   * @param turn Waited for before each chunk that is sent.
   * @param account The account whose request it is.
   */
  constructor(turn: AccountTurn, account: string) {
    this.#turn = turn;
    this.#account = account;
  }

  /** The account whose request it is. */
  get account(): string {
    return this.#account;
  }

  /** Number of detached runs. */
  get count(): number {
    return this.#detached.length;
  }

  /** Detaches base64. Returns what replaces it in the text. */
  add(blob: LongBase64): string {
    this.#prefix ??= `sluice-blob-${crypto.randomUUID()}-`;
    const index = this.#detached.push(blob) - 1;
    return `${decoder.decode(blob.base64.subarray(0, HEAD_CHARS))}${this.#prefix}${index};`;
  }

  /** Detaches runs of a JSON text. Returns the text with marks in their places. */
  detachRuns(json: Uint8Array, runs: readonly Run[]): Uint8Array {
    if (runs.length === 0) return json;
    const pieces: Uint8Array[] = [];
    let copied = 0;
    for (const { start, end, size, examined } of runs) {
      const mark = this.add({ base64: json.subarray(start, end), size, examined });
      pieces.push(json.subarray(copied, start), encoder.encode(mark));
      copied = end;
    }
    pieces.push(json.subarray(copied));
    return joinBytes(pieces);
  }

  /** The detached base64 that a text ends with; undefined if it ends with none. */
  at(text: string): LongBase64 | undefined {
    const start = this.#prefix === undefined ? -1 : text.lastIndexOf(this.#prefix);
    if (start < 0) return undefined;
    return this.#detached[Number(text.slice(start + this.#prefix!.length, -1))];
  }

  /** The text with all base64 reattached, to be sent; the text itself when nothing is detached. */
  reattach(text: string): string | ChunkedBody {
    if (this.#detached.length === 0) return text;
    const pieces = this.#split(text, (piece) => encoder.encode(piece), (rest) => rest);
    return { size: sizeOf(pieces), [Symbol.asyncIterator]: () => this.#chunks(pieces) };
  }

  async *#chunks(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
    this.#sending++;
    try {
      for (const piece of pieces) {
        for (let at = 0; at < piece.byteLength; at += CHUNK_BYTES) {
          await this.#turn(this.#account);
          yield piece.subarray(at, at + CHUNK_BYTES);
        }
      }
    } finally {
      this.#sending--;
    }
  }

  /** Whether a reattached text is being sent: an upstream may reply before it has read all of it. */
  get sending(): boolean {
    return this.#sending > 0;
  }

  /** A JSON value with all base64 reattached. */
  restored(value: unknown): unknown {
    if (this.#detached.length === 0) return value;
    const text = JSON.stringify(value);
    return parseJson(
      this.#split(text, (piece) => piece, (rest) => decoder.decode(rest)).join(""),
    );
  }

  #split<T>(text: string, own: (piece: string) => T, blob: (rest: Uint8Array) => T): T[] {
    return text.split(new RegExp(`${this.#prefix}(\\d+);`)).map((piece, at) =>
      at % 2 === 0 ? own(piece) : blob(this.#detached[Number(piece)]!.base64.subarray(HEAD_CHARS))
    );
  }

  /** From now on nothing is detached. */
  forget(): void {
    this.#detached = [];
  }

  /** Keeps something until the base64 is released. */
  hold(held: { release(): void }): void {
    this.#held.push(held);
  }

  /** Lets go of everything; nothing more is to be read or written. */
  release(): void {
    this.forget();
    for (const held of this.#held.splice(0)) held.release();
  }
}
