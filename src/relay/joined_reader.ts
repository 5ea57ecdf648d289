import { type AnswerState, NOTHING } from "../dialects/mod.ts";
import type { TextReader } from "./text_reader.ts";

/** What a part has read, or how it failed. */
type Turn = { readonly reader: TextReader; readonly text: string } | { readonly error: unknown };

/**
 * Several streams as one, in the order in which their upstreams speak. Of each part one piece at the
 * most is held, so that a slow caller holds all of them back.
 */
export class JoinedReader implements TextReader {
  readonly answer: AnswerState;
  readonly #idle: Set<TextReader>;
  readonly #read: Turn[] = [];
  /** Parts that are being read; such a one may have ended with its text still on the way. */
  #reading = 0;
  readonly #parts: readonly TextReader[];
  #wake: () => void = () => {};

  constructor(parts: readonly TextReader[], answer: AnswerState) {
    this.#parts = parts;
    this.#idle = new Set(parts);
    this.answer = answer;
  }

  get outputLimit(): number {
    return this.#parts.reduce((sum, part) => sum + part.outputLimit, 0);
  }

  /** Each part has its share of it. */
  set outputLimit(tokens: number) {
    for (const part of this.#parts) part.outputLimit = Math.floor(tokens / this.#parts.length);
  }

  /** Whether all that are not complete wait for the limit. */
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
    const turn = this.#read.shift()!;
    if ("error" in turn) throw turn.error;
    const { reader, text } = turn;
    if (!reader.finished) this.#idle.add(reader);
    // what ends a choice does not wait for the others
    return reader.finished ? text + reader.answer.close(NOTHING) : text;
  }

  close(): void {
    for (const part of this.#parts) part.close();
  }

  #start(reader: TextReader): void {
    this.#idle.delete(reader);
    this.#reading++;
    const came = (turn: Turn) => {
      this.#reading--;
      this.#read.push(turn);
      this.#wake();
    };
    if (reader.finished) return came({ reader, text: "" });
    reader.next().then((text) => came({ reader, text }), (error) => came({ error }));
  }
}
