import { Roster } from "../roster.ts";

/** A request that is being answered. */
export interface RunningRequest {
  readonly requestId: string;
  readonly accountId: string;
  readonly email: string;
  readonly route: string;
  readonly dialect: string;
  readonly streamed: boolean;
  readonly startedAtMs: number;
}

/** Requests that are being answered, so that stopping can wait for them. */
export class Running {
  readonly #all = new Roster<RunningRequest>();
  #idle = Promise.withResolvers<void>();
  readonly #cutOff = new AbortController();
  readonly #onCutOff = new Roster<() => void>();

  constructor() {
    this.#idle.resolve();
  }

  /** How many there are. */
  get count(): number {
    return this.#all.size;
  }

  /** Oldest first. */
  get all(): readonly RunningRequest[] {
    return this.#all.all().toSorted((a, b) => a.startedAtMs - b.startedAtMs);
  }

  /** Aborted when the time for finishing is over. */
  get cutOff(): AbortSignal {
    return this.#cutOff.signal;
  }

  /** Calls `act` when the time for finishing is over, maybe now, unless the answer is called before. */
  onCutOff(act: () => void): () => void {
    if (this.#cutOff.signal.aborted) act();
    const place = this.#onCutOff.add(act);
    return () => void this.#onCutOff.take(place, act);
  }

  /** Counts a request as running until the answer is called; calling it twice counts once. */
  begin(request: RunningRequest): () => void {
    if (this.#all.size === 0) this.#idle = Promise.withResolvers();
    const place = this.#all.add(request);
    return () => {
      if (this.#all.take(place, request) && this.#all.size === 0) this.#idle.resolve();
    };
  }

  /** Waits until nothing runs, cutting off what still does after `patienceMs`. */
  async finish(patienceMs: number): Promise<{ cutOff: number }> {
    let cutOff = 0;
    const timer = setTimeout(() => {
      cutOff = this.#all.size;
      this.#cutOff.abort();
      for (const act of this.#onCutOff.clear()) act();
    }, patienceMs);
    await this.#idle.promise;
    clearTimeout(timer);
    return { cutOff };
  }
}
