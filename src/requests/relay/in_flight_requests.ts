import { SlotMap } from "../../ground/platform/mod.ts";

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

/** The numbers of in-flight requests of the threads of a process, in memory that they share. */
export interface InFlightCounts {
  readonly all: Int32Array<SharedArrayBuffer>;
  /** The place of this thread. */
  readonly own: number;
}

/** Requests that are being answered, so that stopping can wait for them. */
export class InFlightRequests {
  readonly #all = new SlotMap<{ readonly request: InFlightRequest; readonly cutOff: () => void }>();
  #idle = Promise.withResolvers<void>();
  readonly #cutOff = new AbortController();
  readonly #counts: InFlightCounts | undefined;

  /** @param counts Where the threads of the process count theirs; without, this thread is the only one. */
  constructor(counts?: InFlightCounts) {
    this.#counts = counts;
    this.#idle.resolve();
  }

  /** How many there are in all threads of the process. */
  get count(): number {
    if (this.#counts === undefined) return this.ownCount;
    let count = 0;
    for (let at = 0; at < this.#counts.all.length; at++) {
      count += Atomics.load(this.#counts.all, at);
    }
    return count;
  }

  /** How many there are in this thread. */
  get ownCount(): number {
    return this.#all.size;
  }

  /** Those of this thread, oldest first. */
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
    this.#publish();
    if (this.#cutOff.signal.aborted) cutOff();
    return () => {
      this.#all.take(place, entry);
      this.#publish();
      if (this.#all.size === 0) this.#idle.resolve();
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

  #publish(): void {
    if (this.#counts !== undefined) {
      Atomics.store(this.#counts.all, this.#counts.own, this.#all.size);
    }
  }
}
