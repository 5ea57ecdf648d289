/** Failures in a row after which a target rests. */
const FAILURES_TO_REST = 5;
const FIRST_REST_MS = 5_000;
const LONGEST_REST_MS = 60_000;

/**
 * How an upstream has been doing.
 *
 * After five failures in a row it rests: others are asked before it. When its rest is over the next
 * request probes it; another failure makes the rest longer. It is never skipped altogether, since
 * an upstream that may fail is better than a certain refusal.
 */
export class Health {
  readonly #now: () => number;
  /** What went wrong last, without secrets; undefined while nothing did. */
  lastFailure: { readonly detail: string; readonly atMs: number } | undefined;
  /** From the last answered request to the beginning of its answer. */
  lastLatencyMs: number | undefined;
  #failures = 0;
  #restUntilMs = 0;
  #restMs = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether others should be asked first. */
  get resting(): boolean {
    return this.#now() < this.#restUntilMs;
  }

  /** It answered. */
  succeeded(latencyMs: number): void {
    this.lastLatencyMs = latencyMs;
    this.#failures = 0;
    this.#restUntilMs = 0;
    this.#restMs = 0;
  }

  /** It did not, or answered 5xx or 429. */
  failed(detail: string): void {
    this.lastFailure = { detail, atMs: this.#now() };
    this.#failures++;
    if (this.#failures < FAILURES_TO_REST || this.resting) return;
    this.#restMs = Math.min(LONGEST_REST_MS, Math.max(FIRST_REST_MS, this.#restMs * 2));
    this.#restUntilMs = this.#now() + this.#restMs;
  }
}
