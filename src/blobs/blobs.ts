import { joinBytes, sizeOf } from "../bytes.ts";
import { parseJson } from "../json/mod.ts";
import type { Examined } from "../pixels/mod.ts";
import type { Run } from "./protocol.ts";

/** Characters of base64 that stay in the text, for whoever reads an image's header there. */
const HEAD_CHARS = 65_536;
/** Runs of fewer characters stay where they are. */
export const LEAST_CHARS = 2 * HEAD_CHARS;

/** Long base64 that stands aside. */
export interface LongBase64 {
  /** In ASCII. */
  readonly base64: Uint8Array;
  /** Raw bytes that it stands for. */
  readonly size: number;
  /** What an image in it is. */
  readonly examined: Examined;
}

/** A JSON text that was read. */
export interface JsonBody {
  /** What it says, with marks where long base64 stands aside. */
  readonly json: unknown;
  /** Bytes of the text. */
  readonly bytes: number;
  /** What stands aside; to be released when nothing more is read or sent of the body. */
  readonly blobs: Blobs;
}

/** Waits for an account's turn to handle {@linkcode PORTION} bytes. */
export type Turn = (account: string) => Promise<void>;

/** A text of many bytes, in UTF-8, in portions that can be sent one after the other. */
export interface Portions extends AsyncIterable<Uint8Array> {
  /** Bytes in all. */
  readonly size: number;
}

/** Bytes that are read or sent at one turn. */
export const PORTION = 131_072;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * The long base64 of one request, which stands aside from its text.
 *
 * In a text a blob is its first {@linkcode HEAD_CHARS} characters and a mark for the rest. Marks are
 * random for each request, so no caller can write one.
 */
export class Blobs {
  /** Undefined until there is a blob: most requests have none. */
  #prefix: string | undefined;
  #blobs: LongBase64[] = [];
  readonly #turn: Turn;
  readonly #account: string;
  #held: { release(): void }[] = [];
  #sending = 0;

  /**
   * @param turn Waited for before each portion that is sent.
   * @param account Whose request it is.
   */
  constructor(turn: Turn, account: string) {
    this.#turn = turn;
    this.#account = account;
  }

  /** The account whose request it is. */
  get account(): string {
    return this.#account;
  }

  /** How many there are. */
  get count(): number {
    return this.#blobs.length;
  }

  /** Sets base64 aside; answers what stands for it in a text. */
  add(blob: LongBase64): string {
    this.#prefix ??= `sluice-blob-${crypto.randomUUID()}-`;
    const index = this.#blobs.push(blob) - 1;
    return `${decoder.decode(blob.base64.subarray(0, HEAD_CHARS))}${this.#prefix}${index};`;
  }

  /** Sets runs of a JSON text aside; answers the text with marks in their places. */
  takeOut(json: Uint8Array, runs: readonly Run[]): Uint8Array {
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

  /** The blob that a text ends with, if there is one. */
  at(text: string): LongBase64 | undefined {
    const start = this.#prefix === undefined ? -1 : text.lastIndexOf(this.#prefix);
    if (start < 0) return undefined;
    return this.#blobs[Number(text.slice(start + this.#prefix!.length, -1))];
  }

  /** A text with the blobs in their places, to be sent; the text itself when it has none. */
  inPlace(text: string): string | Portions {
    if (this.#blobs.length === 0) return text;
    const pieces = this.#split(text, (piece) => encoder.encode(piece), (rest) => rest);
    return { size: sizeOf(pieces), [Symbol.asyncIterator]: () => this.#portions(pieces) };
  }

  async *#portions(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
    this.#sending++;
    try {
      for (const piece of pieces) {
        for (let at = 0; at < piece.byteLength; at += PORTION) {
          await this.#turn(this.#account);
          yield piece.subarray(at, at + PORTION);
        }
      }
    } finally {
      this.#sending--;
    }
  }

  /** Whether a text with blobs is being sent: an upstream may answer before it has read all of it. */
  get sending(): boolean {
    return this.#sending > 0;
  }

  /** A JSON value with the blobs in their places, as if none had been set aside. */
  restored(value: unknown): unknown {
    if (this.#blobs.length === 0) return value;
    const text = JSON.stringify(value);
    return parseJson(
      this.#split(text, (piece) => piece, (rest) => decoder.decode(rest)).join(""),
    );
  }

  #split<T>(text: string, own: (piece: string) => T, blob: (rest: Uint8Array) => T): T[] {
    return text.split(new RegExp(`${this.#prefix}(\\d+);`)).map((piece, at) =>
      at % 2 === 0 ? own(piece) : blob(this.#blobs[Number(piece)]!.base64.subarray(HEAD_CHARS))
    );
  }

  /** From now on nothing stands aside. */
  forget(): void {
    this.#blobs = [];
  }

  /** Keeps something until the blobs are released. */
  hold(held: { release(): void }): void {
    this.#held.push(held);
  }

  /** Lets go of everything; nothing more is to be read or written. */
  release(): void {
    this.forget();
    for (const held of this.#held.splice(0)) held.release();
  }
}
