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
  #ready = "";
  #failure: { error: unknown } | undefined;
  /** Events that came with the one that reached the limit. */
  #kept: readonly SseEvent[] = [];

  /** @param pingAfterMs Silence of the upstream after which the caller is sent a ping. */
  constructor(source: EventSource, answer: AnswerStream, pingAfterMs: number) {
    this.#source = source;
    this.answer = answer;
    this.#pingAfterMs = pingAfterMs;
  }

  /**
   * Reads until the upstream has said something for the caller: what goes wrong before is still an
   * HTTP status, and another target can be asked. An upstream that has promised a stream and is
   * silent for long has begun as well, since clients and proxies on the way give up on silence.
   */
  async begin(): Promise<this> {
    try {
      while (this.#ready === "" && !this.answer.finished && !this.atLimit) {
        const events = await this.#source.readWithin(this.#pingAfterMs);
        if (events === "silent") this.#ready = this.answer.ping();
        else this.#ready = this.#take(events);
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
    return this.answer.finished && this.#ready === "";
  }

  /** The next text: a ping when the upstream is silent. */
  async next(): Promise<string> {
    if (this.#ready !== "") {
      const text = this.#ready;
      this.#ready = "";
      return text;
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#kept.length > 0) return this.#take(this.#kept);
    const events = await this.#source.readWithin(this.#pingAfterMs);
    return events === "silent" ? this.answer.ping() : this.#take(events);
  }

  /** Lets go of the source; nothing is read any more. */
  close(): void {
    this.#source.close();
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
        if (text === "") throw error;
        this.#failure = { error };
        break;
      }
    }
    return text;
  }
}
