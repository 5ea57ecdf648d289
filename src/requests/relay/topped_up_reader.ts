import type { ReplyState } from "../../wire/dialects/mod.ts";
import { JoinedReader } from "./joined_reader.ts";
import type { OpenedStream } from "./opened_reply.ts";
import type { TextReader } from "./text_reader.ts";

/** How the missing choices of a stream are supplied. */
export interface TopUp {
  /** Choices that the client asked for. */
  readonly choices: number;
  /** Requests the choices from `first` on, each by itself. Those that fail are left out. */
  readonly request: (first: number) => Promise<readonly OpenedStream[]>;
  /** The state of all together. */
  readonly join: (parts: readonly ReplyState[]) => ReplyState;
}

/**
 * A stream of several choices whose upstream may ignore how many were requested: when it ends with fewer, the missing
 * ones are requested and follow.
 */
export class ToppedUpReader implements TextReader {
  readonly #first: OpenedStream;
  readonly #topUp: TopUp;
  #rest: readonly OpenedStream[] = [];
  #restReader: TextReader | undefined;
  #joined: ReplyState | undefined;
  #outputLimit: number;

  constructor(first: OpenedStream, topUp: TopUp) {
    this.#first = first;
    this.#topUp = topUp;
    this.#outputLimit = first.reader.outputLimit;
  }

  get reply(): ReplyState {
    return this.#joined ?? this.#first.reader.reply;
  }

  get requests(): number {
    return this.#first.reader.requests + (this.#restReader?.requests ?? 0);
  }

  get outputLimit(): number {
    return this.#outputLimit;
  }

  set outputLimit(tokens: number) {
    this.#outputLimit = tokens;
    const { reader } = this.#first;
    if (this.#restReader === undefined) reader.outputLimit = tokens;
    else this.#restReader.outputLimit = tokens - reader.reply.countedOutput;
  }

  get atLimit(): boolean {
    return (this.#restReader ?? this.#first.reader).atLimit;
  }

  get finished(): boolean {
    if (this.#restReader !== undefined) return this.#restReader.finished;
    return this.#first.reader.finished && this.#missing <= 0;
  }

  get #missing(): number {
    return this.#topUp.choices - this.#first.reader.reply.endedChoices;
  }

  async next(): Promise<string> {
    const { reader } = this.#first;
    if (!reader.finished) return await reader.next();
    this.#restReader ??= await this.#requestRest();
    // the first choice may have left so little of the limit that all others are at theirs from the start
    if (this.#restReader.finished || this.#restReader.atLimit) return "";
    return await this.#restReader.next();
  }

  close(): void {
    this.#first.reader.close();
    this.#restReader?.close();
  }

  /** Gives the replies up. */
  discard(): void {
    this.#first.discard();
    for (const one of this.#rest) one.discard();
  }

  /** Lets what follows complete replies pass. */
  drain(): void {
    this.#first.drain();
    for (const one of this.#rest) one.drain();
  }

  async #requestRest(): Promise<TextReader> {
    const { reply } = this.#first.reader;
    this.#rest = await this.#topUp.request(reply.endedChoices);
    const replies = this.#rest.map(({ reader }) => reader.reply);
    this.#joined = this.#topUp.join([reply, ...replies]);
    const readers = this.#rest.map(({ reader }) => reader);
    const rest = new JoinedReader(readers, this.#topUp.join(replies));
    rest.outputLimit = this.#outputLimit - reply.countedOutput;
    return rest;
  }
}

/** A stream of several choices, with those that its upstream leaves out. */
export function openedToppedUp(first: OpenedStream, topUp: TopUp): OpenedStream {
  const reader = new ToppedUpReader(first, topUp);
  return {
    kind: "stream",
    reader,
    choices: topUp.choices,
    discard: () => reader.discard(),
    drain: () => reader.drain(),
  };
}
