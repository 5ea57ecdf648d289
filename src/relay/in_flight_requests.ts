import { SlotMap } from "../platform/mod.ts";

/** A request that is being answered. */
export interface InFlightRequest {
  readonly requestId: string;
  readonly accountId: string;
  readonly email: string;
  readonly route: string;
  readonly dialect: string;
  readonly streamed: boolean;
  readonly startedAtMs: number;
}

/** Requests that are being answered, so that stopping can wait for them. */
export class InFlightRequests {
  readonly #all = new SlotMap<{ readonly request: InFlightRequest; readonly cutOff: () => void }>();
  #idle = Promise.withResolvers<void>();
  readonly #cutOff = new AbortController();

  constructor() {
    this.#idle.resolve();
  }

  /** How many there are. */
  get count(): number {
    return this.#all.size;
  }

  /** Oldest first. */
  get all(): readonly InFlightRequest[] {
    return this.#all.all().map(({ request }) => request)
      .toSorted((a, b) => a.startedAtMs - b.startedAtMs);
  }

  /** Aborted when the time for finishing is over. */
  get cutOff(): AbortSignal {
    return this.#cutOff.signal;
  }

  /**
   * Counts a request as running until the answer is called; calling it twice counts once.
   *
   * @param cutOff Called when it is to end at once, maybe before this returns.
   */
  begin(request: InFlightRequest, cutOff: () => void): () => void {
    if (this.#all.size === 0) this.#idle = Promise.withResolvers();
    const entry = { request, cutOff };
    const place = this.#all.add(entry);
    if (this.#cutOff.signal.aborted) cutOff();
    return () => {
      if (this.#all.take(place, entry) && this.#all.size === 0) this.#idle.resolve();
    };
  }

  /** Waits until nothing runs, cutting off what still does after `patienceMs`. */
  async finish(patienceMs: number): Promise<{ cutOff: number }> {
    let cutOff = 0;
    const timer = setTimeout(() => {
      cutOff = this.#all.size;
      this.#cutOff.abort();
      for (const one of this.#all.all()) one.cutOff();
    }, patienceMs);
    await this.#idle.promise;
    clearTimeout(timer);
    return { cutOff };
  }
}
