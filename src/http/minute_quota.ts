import { Refusal } from "../refusal.ts";

const MINUTE_MS = 60_000;

/** What a key may do in a minute. */
export interface MinuteQuotaOptions {
  /** Units per key and minute. */
  readonly limit: number;
  /** What the units are, for the refusal: `count_tokens requests`. */
  readonly units: string;
  readonly now: () => number;
}

/**
 * Bounds work that is not billed, per key and minute. Held in memory: it protects this process, not
 * anyone's credits.
 */
export class MinuteQuota {
  readonly #options: MinuteQuotaOptions;
  #minute = 0;
  readonly #used = new Map<string, number>();

  constructor(options: MinuteQuotaOptions) {
    this.#options = options;
  }

  /** Counts units, whether the quota covers them or not. */
  add(keyId: string, units: number): void {
    this.#turn();
    this.#used.set(keyId, (this.#used.get(keyId) ?? 0) + units);
  }

  /** @throws {Refusal} `rate_exceeded` when the key has used up its quota of this minute. */
  check(keyId: string): void {
    const { limit, units } = this.#options;
    const now = this.#turn();
    if ((this.#used.get(keyId) ?? 0) < limit) return;
    throw new Refusal(
      "rate_exceeded",
      `Too many ${units}: the limit is ${limit.toLocaleString("en-US")} per minute and API key.`,
      { retryAfterMs: (this.#minute + 1) * MINUTE_MS - now },
    );
  }

  /** Starts over with each minute. Returns the time. */
  #turn(): number {
    const now = this.#options.now();
    const minute = Math.floor(now / MINUTE_MS);
    if (minute !== this.#minute) {
      this.#used.clear();
      this.#minute = minute;
    }
    return now;
  }
}
