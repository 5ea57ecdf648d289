import { Circuit, type Pass } from "./circuit.ts";

/** A key that is rejected or exhausted is probed seldom: somebody has to do something about it. */
const COOLDOWNS = { firstCooldownMs: 60_000, maxCooldownMs: 15 * 60_000 };
/** How long a key over its rate limit is left alone if the upstream does not say. */
const DEFAULT_LIMITED_MS = 5_000;

/** How one of an upstream's keys has been doing. */
export class KeyHealth {
  readonly #now: () => number;
  readonly #circuit: Circuit;
  #limitedUntilMs = 0;

  constructor(now: () => number) {
    this.#now = now;
    this.#circuit = new Circuit(now, COOLDOWNS);
  }

  /** Whether the other keys are used. */
  get resting(): boolean {
    return this.#circuit.isOpen || this.#now() < this.#limitedUntilMs;
  }

  /** When it may be used again, in milliseconds since the epoch. */
  get usableAtMs(): number {
    return Math.max(this.#circuit.openUntilMs, this.#limitedUntilMs);
  }

  /** Leave to send one request with it. */
  pass(): Pass {
    return this.#circuit.force();
  }

  /** Notes that the key is over its rate limit. */
  limited(retryAfterMs = DEFAULT_LIMITED_MS): void {
    this.#limitedUntilMs = Math.max(this.#limitedUntilMs, this.#now() + retryAfterMs);
  }
}
