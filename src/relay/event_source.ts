import type { CoarseTimers } from "../coarse_timers.ts";
import { SseDecoder, type SseEvent, StreamFault } from "../dialects/mod.ts";
import { Refusal } from "../refusal.ts";
import type { UpstreamReply } from "../upstreams/mod.ts";

/** What a read answers: events, undefined at the end, `"silent"` when none came in time. */
type Read = SseEvent[] | undefined | "silent";

/** An upstream's events, read on demand: nothing is read that the caller has not asked for. */
export class EventSource {
  readonly #body: UpstreamReply["body"];
  readonly #timers: CoarseTimers;
  readonly #decoder = new SseDecoder();
  #reading: Promise<SseEvent[] | undefined> | undefined;
  #dismiss: (() => void) | undefined;
  #untilTick = 0;
  #giveUp: ((silent: "silent") => void) | undefined;

  constructor({ body }: UpstreamReply, timers: CoarseTimers) {
    this.#body = body;
    this.#timers = timers;
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
      this.#read().then(resolve, reject);
    });
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

  async #read(): Promise<SseEvent[] | undefined> {
    const events = await (this.#reading ??= this.#readSome());
    this.#reading = undefined;
    return events;
  }

  async #readSome(): Promise<SseEvent[] | undefined> {
    try {
      while (true) {
        const bytes = await this.#body.read();
        if (bytes === undefined) return undefined;
        const events = this.#decoder.push(bytes);
        if (events.length > 0) return events;
      }
    } catch (error) {
      if (!(error instanceof StreamFault)) throw error;
      const message = `The upstream's stream cannot be followed: ${error.message}.`;
      throw new Refusal("upstream_unavailable", message, { cause: error });
    }
  }
}
