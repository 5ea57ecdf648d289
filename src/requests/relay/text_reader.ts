import type { ReplyState } from "../../wire/dialects/mod.ts";
import { Promised, type Waiter } from "../upstreams/mod.ts";

/** A reply's text for the client, read on demand. */
export interface TextReader {
  /** What is known of the reply so far. */
  readonly reply: ReplyState;
  /** Upstream requests that it took; each of them read the whole input. */
  readonly requests: number;
  /**
   * Output tokens after which reading stops until the limit is raised. What has arrived beyond it is
   * kept.
   */
  outputLimit: number;
  /** Whether the limit is reached: there is nothing to read before it is raised. */
  readonly atLimit: boolean;
  /** Whether the reply is complete and all of its text has been read. */
  readonly finished: boolean;
  /** Reads the next text: empty when there is none yet. Throws when the reply failed. */
  next(): Promise<string>;
  /** Lets go of the source; nothing is read any more. */
  close(): void;
}

/** A reply's text that is had without a promise for each piece. */
export interface ReadyTextReader extends TextReader {
  /**
   * Takes the next text.
   *
   * @returns Empty when what arrived has none; undefined when nothing has arrived yet.
   * @throws When the reply failed.
   */
  take(): string | undefined;
  /** Has a waiter woken once there is something to take, maybe at once. One waits at a time. */
  whenReady(waiter: Waiter): void;
}

/** Reads the next text once there is one. */
export async function nextText(
  reader: Pick<ReadyTextReader, "take" | "whenReady">,
): Promise<string> {
  while (true) {
    const text = reader.take();
    if (text !== undefined) return text;
    await new Promise<void>((resolve) => reader.whenReady({ wake: resolve }));
  }
}

/** Makes any reader one that is waited for without a promise for each piece. */
export function readyReader(reader: TextReader | ReadyTextReader): ReadyTextReader {
  return "take" in reader ? reader : new AwaitedReader(reader);
}

/** A reader that has nothing but promises. */
class AwaitedReader implements ReadyTextReader {
  readonly #reader: TextReader;
  readonly #promised = new Promised<string>();

  constructor(reader: TextReader) {
    this.#reader = reader;
  }

  get reply(): ReplyState {
    return this.#reader.reply;
  }

  get requests(): number {
    return this.#reader.requests;
  }

  get outputLimit(): number {
    return this.#reader.outputLimit;
  }

  set outputLimit(tokens: number) {
    this.#reader.outputLimit = tokens;
  }

  get atLimit(): boolean {
    return this.#promised.isQuiet && this.#reader.atLimit;
  }

  get finished(): boolean {
    return this.#promised.isQuiet && this.#reader.finished;
  }

  take(): string | undefined {
    return this.#promised.take()?.value;
  }

  whenReady(waiter: Waiter): void {
    this.#promised.whenReady(waiter, () => this.#reader.next());
  }

  next(): Promise<string> {
    return nextText(this);
  }

  close(): void {
    this.#reader.close();
  }
}
