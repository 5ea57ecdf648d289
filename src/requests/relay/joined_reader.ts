import { NO_USAGE, type ReplyState } from "../../wire/dialects/mod.ts";
import type { TextReader } from "./text_reader.ts";

/** What was read of a part, or how it failed. */
type PartRead = { readonly reader: TextReader; readonly text: string } | {
  readonly error: unknown;
};

/**
 * Several streams as one, in the order in which their upstreams send. At most one piece of each part is held, so
 * that a slow client holds all of them back.
 */
export class JoinedReader implements TextReader {
  readonly reply: ReplyState;
  readonly #idle: Set<TextReader>;
  readonly #read: PartRead[] = [];
  /** Parts that are being read; such a one may have ended with its text still on the way. */
  #reading = 0;
  readonly #parts: readonly TextReader[];
  #wake: () => void = () => {};

  constructor(parts: readonly TextReader[], reply: ReplyState) {
    this.#parts = parts;
    this.#idle = new Set(parts);
    this.reply = reply;
  }

  get requests(): number {
    return this.#parts.reduce((sum, { requests }) => sum + requests, 0);
  }

  get outputLimit(): number {
    return this.#parts.reduce((sum, part) => sum + part.outputLimit, 0);
  }

  /** Each part has its share of it. */
  set outputLimit(tokens: number) {
    for (const part of this.#parts) part.outputLimit = Math.floor(tokens / this.#parts.length);
  }

  /** Whether all parts that are not complete wait for the limit. */
  get atLimit(): boolean {
    return this.#isQuiet && !this.finished &&
      this.#parts.every((part) => part.finished || part.atLimit);
  }

  get finished(): boolean {
    return this.#isQuiet && this.#parts.every((part) => part.finished);
  }

  get #isQuiet(): boolean {
    return this.#read.length === 0 && this.#reading === 0;
  }

  async next(): Promise<string> {
    for (const reader of this.#idle) if (!reader.atLimit) this.#start(reader);
    if (this.#read.length === 0) await new Promise<void>((resolve) => this.#wake = resolve);
    const read = this.#read.shift()!;
    if ("error" in read) throw read.error;
    const { reader, text } = read;
    if (!reader.finished) this.#idle.add(reader);
    // the end of a choice does not wait for the others
    return reader.finished ? text + reader.reply.close(NO_USAGE) : text;
  }

  close(): void {
    for (const part of this.#parts) part.close();
  }

  #start(reader: TextReader): void {
    this.#idle.delete(reader);
    this.#reading++;
    const came = (read: PartRead) => {
      this.#reading--;
      this.#read.push(read);
      this.#wake();
    };
    if (reader.finished) return came({ reader, text: "" });
    reader.next().then((text) => came({ reader, text }), (error) => came({ error }));
  }
}
