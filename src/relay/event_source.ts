import type { CoarseTimers } from "../platform/mod.ts";
import { SseDecoder, type SseEvent, StreamFault } from "../dialects/mod.ts";
import { Refusal } from "../refusal.ts";
import type { UpstreamReply } from "../upstreams/mod.ts";
import { checkReplyJson, excessive, type ReplyLimits, Yielder } from "./reply_limits.ts";

/** What a read answers: events, undefined at the end, `"silent"` when none came in time. */
type Read = SseEvent[] | undefined | "silent";

/** An upstream's events, read on demand: nothing is read that the caller has not asked for. */
export class EventSource {
  readonly #body: UpstreamReply["body"];
  readonly #timers: CoarseTimers;
  readonly #decoder = new SseDecoder();
  readonly #limits: ReplyLimits;
  readonly #turns = new Yielder();
  #bytes = 0;
  #silentBytes = 0;
  #events = 0;
  #reading: Promise<SseEvent[] | undefined> | undefined;
  #dismiss: (() => void) | undefined;
  #untilTick = 0;
  #giveUp: ((silent: "silent") => void) | undefined;

  constructor({ body }: UpstreamReply, timers: CoarseTimers, limits: ReplyLimits) {
    this.#body = body;
    this.#timers = timers;
    this.#limits = limits;
  }

  /**
   * The next events; what is being read at a silence is kept for the next call.
   *
   * @param untilTick `performance.now()` up to which they are waited for; not before that of the call before.
   */
  readUntil(untilTick: number): Promise<Read> {
    return new Promise<Read>((resolve, reject) => {
      this.#giveUp = resolve;
      this.#untilTick = untilTick;
      this.#watch();
      this.read().then(resolve, reject);
    });
  }

  /** The next events, however long they take; undefined at the end. */
  async read(): Promise<SseEvent[] | undefined> {
    const events = await (this.#reading ??= this.#readSome());
    this.#reading = undefined;
    return events;
  }

  /** Stops watching for silence. */
  close(): void {
    this.#dismiss?.();
    this.#dismiss = undefined;
    this.#giveUp = undefined;
  }

  /** One timer serves many reads: it looks how long the present one may last when it fires. */
  #watch(): void {
    this.#dismiss ??= this.#timers.after(this.#untilTick - performance.now(), () => {
      this.#dismiss = undefined;
      if (this.#giveUp === undefined) return;
      if (performance.now() >= this.#untilTick) this.#giveUp("silent");
      else this.#watch();
    });
  }

  async #readSome(): Promise<SseEvent[] | undefined> {
    try {
      while (true) {
        const bytes = await this.#body.read();
        if (bytes === undefined) return undefined;
        const events = this.#decoder.push(bytes);
        this.#check(bytes.byteLength, events);
        await this.#turns.taken(bytes.byteLength, events.length);
        if (events.length > 0) return events;
      }
    } catch (error) {
      if (!(error instanceof StreamFault)) throw error;
      const message = `The upstream sent an invalid event stream: ${error.message}.`;
      throw new Refusal("upstream_unavailable", message, { cause: error });
    }
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
