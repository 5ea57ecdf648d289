/** Requests that are being answered, so that stopping can wait for them. */
export class Running {
  #count = 0;
  #idle = Promise.withResolvers<void>();
  readonly #cutOff = new AbortController();

  constructor() {
    this.#idle.resolve();
  }

  /** How many there are. */
  get count(): number {
    return this.#count;
  }

  /** Aborted when the time for finishing is over. */
  get cutOff(): AbortSignal {
    return this.#cutOff.signal;
  }

  /** Counts a request as running until the answer is called; calling it twice counts once. */
  begin(): () => void {
    if (this.#count++ === 0) this.#idle = Promise.withResolvers();
    let running = true;
    return () => {
      if (!running) return;
      running = false;
      if (--this.#count === 0) this.#idle.resolve();
    };
  }

  /** Waits until nothing runs, cutting off what still does after `patienceMs`. */
  async finish(patienceMs: number): Promise<{ cutOff: number }> {
    const timer = setTimeout(() => this.#cutOff.abort(), patienceMs);
    let cutOff = 0;
    this.#cutOff.signal.addEventListener("abort", () => cutOff = this.#count);
    await this.#idle.promise;
    clearTimeout(timer);
    return { cutOff };
  }
}
