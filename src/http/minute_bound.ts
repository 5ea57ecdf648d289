import { Refusal } from "../refusal.ts";

const MINUTE_MS = 60_000;

/**
 * How often each key may do in a minute what costs nothing but time. Held in memory: it protects
 * this process, not anyone's credits.
 */
export class MinuteBound {
  readonly #perMinute: number;
  readonly #now: () => number;
  #minute = 0;
  readonly #used = new Map<string, number>();

  constructor(perMinute: number, now: () => number) {
    this.#perMinute = perMinute;
    this.#now = now;
  }

  /** @throws {Refusal} `rate_exceeded` when the key has had its share of this minute. */
  take(keyId: string): void {
    const now = this.#now();
    const minute = Math.floor(now / MINUTE_MS);
    if (minute !== this.#minute) {
      this.#used.clear();
      this.#minute = minute;
    }
    const used = (this.#used.get(keyId) ?? 0) + 1;
    if (used > this.#perMinute) {
      throw new Refusal(
        "rate_exceeded",
        `At most ${this.#perMinute} requests are counted per minute for a key.`,
        { retryAfterMs: (minute + 1) * MINUTE_MS - now },
      );
    }
    this.#used.set(keyId, used);
  }
}
