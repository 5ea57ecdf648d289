import type { AnswerStream, SseEvent } from "../dialects/mod.ts";
import type { EventSource } from "./event_source.ts";
import type { TextReader } from "./text_reader.ts";

/**
 * The caller's text, piece by piece, as the upstream's events become it.
 *
 * What was said before a failure is given out before the failure is thrown, so that the caller sees
 * the same however the upstream's bytes happened to arrive.
 */
export class AnswerReader implements TextReader {
  readonly answer: AnswerStream;
  outputLimit = Infinity;
  readonly #source: EventSource;
  readonly #pingAfterMs: number;
  /** When the caller was last given anything. */
  #saidTick = performance.now();
  #ready = "";
  #failure: { error: unknown } | undefined;
  /** Events that came with the one that reached the limit. */
  #kept: readonly SseEvent[] = [];

  /** @param pingAfterMs Time without anything for the caller after which it is sent a ping. */
  constructor(source: EventSource, answer: AnswerStream, pingAfterMs: number) {
    this.#source = source;
    this.answer = answer;
    this.#pingAfterMs = pingAfterMs;
  }

  /**
   * Reads until the upstream has said something for the caller: what goes wrong before is still an
   * HTTP status, and another target can be asked. An upstream that has promised a stream and has
   * nothing for the caller for long has begun as well, since clients and proxies on the way give up on
   * silence.
   *
   * @param canFailOver Whether another target would be asked: then a ping does not begin the response.
   */
  async begin(canFailOver: boolean): Promise<this> {
    try {
      while (canFailOver && !this.answer.hasOutput && !this.answer.finished) {
        this.#ready += this.#take(await this.#orEnd(this.#source.read()));
      }
      while (this.#ready === "" && !this.answer.finished && !this.atLimit) {
        this.#ready = await this.#read();
      }
    } catch (error) {
      this.close();
      throw error;
    }
    return this;
  }

  get atLimit(): boolean {
    return !this.finished && this.#ready === "" && this.answer.countedOutput >= this.outputLimit;
  }

  get finished(): boolean {
    return this.answer.finished && this.#ready === "" && this.#failure === undefined;
  }

  /** The next text: a ping when there has been none for long, whatever the upstream sends meanwhile. */
  async next(): Promise<string> {
    if (this.#ready !== "") {
      const text = this.#ready;
      this.#ready = "";
      return text;
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#kept.length > 0) return this.#take(this.#kept);
    return await this.#read();
  }

  /** Lets go of the source; nothing is read any more. */
  close(): void {
    this.#source.close();
  }

  async #read(): Promise<string> {
    const untilTick = this.#saidTick + this.#pingAfterMs;
    const events = await this.#orEnd(this.#source.readUntil(untilTick));
    if (events !== "silent") return this.#take(events);
    this.#saidTick = performance.now();
    return this.answer.ping();
  }

  /** A stream that breaks off behind its last word has ended. */
  async #orEnd<T>(events: Promise<T>): Promise<T | undefined> {
    try {
      return await events;
    } catch (error) {
      if (this.answer.saidFinish) return undefined;
      throw error;
    }
  }

  #take(events: readonly SseEvent[] | undefined): string {
    if (events === undefined) {
      this.answer.end();
      return "";
    }
    let text = "";
    this.#kept = [];
    for (const [at, event] of events.entries()) {
      if (this.answer.finished) break;
      if (this.answer.countedOutput >= this.outputLimit) {
        this.#kept = events.slice(at);
        break;
      }
      try {
        text += this.answer.push(event);
      } catch (error) {
        if (this.answer.saidFinish) this.answer.end();
        else if (text === "") throw error;
        else this.#failure = { error };
        break;
      }
    }
    if (text !== "") this.#saidTick = performance.now();
    return text;
  }
}
