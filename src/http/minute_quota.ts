import { Refusal } from "../refusal.ts";

const MINUTE_MS = 60_000;

/** Limit of a quota. */
export interface MinuteQuotaOptions {
  /** Max units per key and minute. */
  readonly limit: number;
  /** Plural name of the units for error messages: `count_tokens requests`. */
  readonly units: string;
  readonly now: () => number;
}

/**
 * Limits unbilled work per key and minute. Counted in memory, since it protects this process and not credits.
 */
export class MinuteQuota {
  readonly #options: MinuteQuotaOptions;
  #minute = 0;
  readonly #used = new Map<string, number>();

  constructor(options: MinuteQuotaOptions) {
    this.#options = options;
  }

  /** Counts units, even beyond the quota. */
  add(keyId: string, units: number): void {
    this.#turn();
    this.#used.set(keyId, (this.#used.get(keyId) ?? 0) + units);
  }

  /** Checks the quota. @throws {Refusal} `rate_exceeded` if the key has used it up in this minute. */
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

  /** Resets the counts each minute. @returns The current time in milliseconds. */
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
