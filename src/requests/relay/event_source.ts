import type { CoarseTimers } from "../../ground/platform/mod.ts";
import { SseDecoder, type SseEvent, StreamFault, tooMuch } from "../../wire/dialects/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import { type ReadyBytes, readyBytes, type UpstreamReply, type Waiter } from "../upstreams/mod.ts";
import { checkReplyJson, excessive, type ReplyLimits, Yielder } from "./reply_limits.ts";

/** An upstream's events, read on demand: nothing is read that the caller has not asked for. */
export class EventSource implements Waiter {
  readonly #body: ReadyBytes;
  readonly #timers: CoarseTimers;
  readonly #decoder = new SseDecoder();
  readonly #limits: ReplyLimits;
  readonly #turns = new Yielder();
  #bytes = 0;
  #silentBytes = 0;
  #events = 0;
  #hasEnded = false;
  #waiter: Waiter | undefined;
  #dismiss: (() => void) | undefined;
  #untilTick = Infinity;

  constructor({ body }: UpstreamReply, timers: CoarseTimers, limits: ReplyLimits) {
    this.#body = readyBytes(body);
    this.#timers = timers;
    this.#limits = limits;
  }

  /**
   * Takes the events that have arrived.
   *
   * @returns At least one event; null when none has arrived yet, undefined at the end.
   * @throws {Refusal} `upstream_unavailable` for a body that is not an event stream, or exceeds its limits.
   */
  take(): SseEvent[] | null | undefined {
    try {
      while (!this.#turns.isDue) {
        if (this.#hasEnded) return undefined;
        const bytes = this.#body.take();
        if (bytes === null) return null;
        this.#hasEnded = bytes === undefined;
        const events = bytes === undefined ? this.#decoder.end() : this.#decoder.push(bytes);
        const size = bytes?.byteLength ?? 0;
        this.#check(size, events);
        this.#turns.took(size, events.length);
        if (events.length > 0) return events;
      }
      return null;
    } catch (error) {
      if (!(error instanceof StreamFault)) throw error;
      const message = `The upstream sent an invalid event stream: ${error.message}.`;
      if (error.isTooMuch) throw tooMuch(message);
      throw new Refusal("upstream_unavailable", message, { cause: error });
    }
  }

  /**
   * Has a waiter woken once there is something to take. One waits at a time.
   *
   * @param untilTick `performance.now()` at which it is woken in any case; not before that of the call before.
   */
  whenReady(waiter: Waiter, untilTick = Infinity): void {
    this.#waiter = waiter;
    this.#untilTick = untilTick;
    if (untilTick !== Infinity) this.#watch();
    if (this.#turns.isDue) this.#turns.afterTurn(() => this.wake());
    else this.#body.whenReady(this);
  }

  /** There is something to take. */
  wake(): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.wake();
  }

  /** Stops watching for silence. Who waits is still woken when the upstream's reply is given up. */
  close(): void {
    this.#dismiss?.();
    this.#dismiss = undefined;
  }

  /** One timer serves many waits: it looks how long the present one may last when it fires. */
  #watch(): void {
    this.#dismiss ??= this.#timers.after(this.#untilTick - performance.now(), () => {
      this.#dismiss = undefined;
      if (this.#waiter === undefined) return;
      if (performance.now() >= this.#untilTick) this.wake();
      else if (this.#untilTick !== Infinity) this.#watch();
    });
  }

  #check(bytes: number, events: readonly SseEvent[]): void {
    const { streamBytes, silentBytes, events: maxEvents, eventValues } = this.#limits;
    this.#bytes += bytes;
    this.#silentBytes = events.length > 0 ? 0 : this.#silentBytes + bytes;
    this.#events += events.length;
    if (this.#bytes > streamBytes) throw excessive(`it has more than ${streamBytes} bytes`);
    if (this.#silentBytes > silentBytes) {
      throw excessive(`it has ${silentBytes} bytes without an event`);
    }
    if (this.#events > maxEvents) throw excessive(`it has more than ${maxEvents} events`);
    for (const { data } of events) checkReplyJson(data, eventValues);
  }
}
