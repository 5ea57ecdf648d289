import { SseDecoder, type SseEvent, StreamFault } from "../dialects/mod.ts";
import { Refusal } from "../refusal.ts";
import type { UpstreamReply } from "../upstreams/mod.ts";

/** An upstream's events, read on demand: nothing is read that the caller has not asked for. */
export class EventSource {
  readonly #bytes: AsyncIterator<Uint8Array>;
  readonly #decoder = new SseDecoder();
  #reading: Promise<SseEvent[] | undefined> | undefined;

  constructor(reply: UpstreamReply) {
    this.#bytes = reply.body[Symbol.asyncIterator]();
  }

  /** The next events; undefined at the end of the bytes. */
  async read(): Promise<SseEvent[] | undefined> {
    const events = await (this.#reading ??= this.#readSome());
    this.#reading = undefined;
    return events;
  }

  /**
   * The next events, undefined at the end of the bytes, or `"silent"` after `patienceMs` without
   * any; what is being read then is kept for the next call.
   */
  async readWithin(patienceMs: number): Promise<SseEvent[] | undefined | "silent"> {
    const reading = this.#reading ??= this.#readSome();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silence = new Promise<"silent">((resolve) => {
      timer = setTimeout(() => resolve("silent"), patienceMs);
    });
    try {
      const events = await Promise.race([reading, silence]);
      if (events !== "silent") this.#reading = undefined;
      return events;
    } finally {
      clearTimeout(timer);
    }
  }

  async #readSome(): Promise<SseEvent[] | undefined> {
    try {
      while (true) {
        const { done, value } = await this.#bytes.next();
        if (done) return undefined;
        const events = this.#decoder.push(value);
        if (events.length > 0) return events;
      }
    } catch (error) {
      if (!(error instanceof StreamFault)) throw error;
      throw new Refusal(
        "upstream_unavailable",
        `The upstream's stream cannot be followed: ${error.message}.`,
        {
          cause: error,
        },
      );
    }
  }
}
