import type { ReplyStream, SseEvent } from "../../wire/dialects/mod.ts";
import type { EventSource } from "./event_source.ts";
import type { Waiter } from "../upstreams/mod.ts";
import { nextText, type ReadyTextReader } from "./text_reader.ts";

/** How long usage may follow an end mark: it comes at once or never. */
export const LATE_USAGE_MS = 250;

/**
 * Reads an upstream's events and turns them into the client's text, piece by piece (P14).
 *
 * Output before a failure is returned before the failure is thrown, so that the client sees
 * the same however the upstream's bytes happened to arrive.
 */
export class ReplyReader implements ReadyTextReader {
  readonly reply: ReplyStream;
  readonly requests = 1;
  outputLimit = Infinity;
  readonly #source: EventSource;
  readonly #pingAfterMs: number;
  /** When the client was last given anything. */
  #wroteTick = performance.now();
  #ready = "";
  #failure: { error: unknown } | undefined;
  /** Events that came with the one that reached the limit. */
  #kept: readonly SseEvent[] = [];
  /** Until when usage is awaited that was not reported before the end mark; undefined if none is. */
  #lateTick: number | undefined;

  /** @param pingAfterMs Time without output after which the client is sent a ping. */
  constructor(source: EventSource, reply: ReplyStream, pingAfterMs: number) {
    this.#source = source;
    this.reply = reply;
    this.#pingAfterMs = pingAfterMs;
  }

  /**
   * Reads until there is something for the client: a failure before is still an
   * HTTP status, and another target can be tried. An upstream that has started a stream and has
   * no output for long has begun as well, since clients and proxies on the way give up on
   * silence.
   *
   * @param canFailOver Whether another target would be tried: then a ping does not begin the response.
   */
  async begin(canFailOver: boolean): Promise<this> {
    try {
      while (canFailOver && !this.reply.hasOutput && !this.reply.finished) {
        const events = this.#takeEvents();
        if (events === null) {
          await new Promise<void>((resolve) => this.#source.whenReady({ wake: resolve }));
        } else this.#ready += this.#textOf(events);
        // what came before it is the gateway's to forget: the client has seen nothing
        if (this.#failure !== undefined && !this.reply.hasOutput) throw this.#failure.error;
      }
      while (this.#ready === "" && !this.reply.finished && !this.atLimit) {
        this.#ready = await this.next();
      }
    } catch (error) {
      this.close();
      throw error;
    }
    return this;
  }

  get atLimit(): boolean {
    return !this.reply.finished && this.#ready === "" &&
      this.reply.countedOutput >= this.outputLimit;
  }

  get finished(): boolean {
    return this.reply.finished && this.#ready === "" && this.#failure === undefined &&
      this.#lateTick === undefined;
  }

  /** The next text if there is one: a ping when there has been none for long, whatever the upstream sends meanwhile. */
  take(): string | undefined {
    if (this.#ready !== "") {
      const text = this.#ready;
      this.#ready = "";
      return text;
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#kept.length > 0) return this.#textOf(this.#kept);
    const events = this.#takeEvents();
    if (this.#lateTick !== undefined) return this.#late(events);
    if (events !== null) return this.#textOf(events);
    if (performance.now() < this.#pingTick) return undefined;
    this.#wroteTick = performance.now();
    return this.reply.ping();
  }

  whenReady(waiter: Waiter): void {
    this.#source.whenReady(waiter, this.#lateTick ?? this.#pingTick);
  }

  next(): Promise<string> {
    return nextText(this);
  }

  get #pingTick(): number {
    return this.#wroteTick + this.#pingAfterMs;
  }

  /** Lets go of the source; nothing is read any more. */
  close(): void {
    this.#source.close();
  }

  /** A stream that breaks off after its finish reason has ended. */
  #takeEvents(): readonly SseEvent[] | null | undefined {
    try {
      return this.#source.take();
    } catch (error) {
      if (this.reply.hasFinishReason || this.reply.finished) return undefined;
      throw error;
    }
  }

  /** Takes what comes after the end mark. */
  #late(events: readonly SseEvent[] | null | undefined): "" | undefined {
    for (const event of events ?? []) this.reply.push(event);
    const isOver = events === undefined || !this.reply.lacksUsage ||
      performance.now() >= this.#lateTick!;
    if (isOver) this.#lateTick = undefined;
    return isOver || events !== null ? "" : undefined;
  }

  #textOf(events: readonly SseEvent[] | undefined): string {
    if (events === undefined) {
      this.reply.end();
      return "";
    }
    let text = "";
    this.#kept = [];
    for (const [at, event] of events.entries()) {
      if (this.reply.finished && !this.reply.lacksUsage) break;
      if (!this.reply.finished && this.reply.countedOutput >= this.outputLimit) {
        this.#kept = events.slice(at);
        break;
      }
      try {
        text += this.reply.push(event);
      } catch (error) {
        if (this.reply.hasFinishReason) this.reply.end();
        else if (text === "") throw error;
        else this.#failure = { error };
        break;
      }
    }
    if (text !== "") this.#wroteTick = performance.now();
    if (this.reply.lacksUsage) {
      this.#source.close(); // the timer of the next ping would be too late
      this.#lateTick = performance.now() + LATE_USAGE_MS;
    }
    return text;
  }
}
