import type { CoarseTimers } from "../coarse_timers.ts";
import { Refusal } from "../refusal.ts";

/** How large a budget is, and how long somebody waits for a share of it. */
export interface ByteBudgetOptions {
  readonly bytes: number;
  readonly patienceMs: number;
  readonly timers: CoarseTimers;
}

/** Bytes of a budget that are somebody's. */
export interface Share {
  /** Gives back what is more than `bytes`. */
  shrink(bytes: number): void;
  /** Gives all of it back; once more does nothing. */
  release(): void;
}

interface Waiter {
  readonly bytes: number;
  readonly begin: () => void;
}

/** Bytes that may be held at once by all together; who comes when none are left waits for a turn. */
export class ByteBudget {
  readonly #options: ByteBudgetOptions;
  #free: number;
  #waiting: Waiter[] = [];

  constructor(options: ByteBudgetOptions) {
    this.#options = options;
    this.#free = options.bytes;
  }

  /**
   * Takes bytes, in the order of asking. Who wants more than the whole budget gets all of it.
   *
   * @throws {Refusal} `gateway_unavailable` when the turn does not come in time.
   */
  async take(wanted: number): Promise<Share> {
    const bytes = Math.min(wanted, this.#options.bytes);
    if (this.#waiting.length > 0 || this.#free < bytes) await this.#turn(bytes);
    else this.#free -= bytes;
    let held = bytes;
    const shrink = (to: number) => {
      if (to >= held) return;
      this.#free += held - to;
      held = to;
      this.#serve();
    };
    return { shrink, release: () => shrink(0) };
  }

  #turn(bytes: number): Promise<void> {
    const { timers, patienceMs } = this.#options;
    return new Promise((resolve, reject) => {
      const dismiss = timers.after(patienceMs, () => {
        this.#waiting = this.#waiting.filter((one) => one !== waiter);
        this.#serve(); // smaller ones may have waited behind this one
        reject(tooMany());
      });
      const waiter = {
        bytes,
        begin: () => {
          dismiss();
          resolve();
        },
      };
      this.#waiting.push(waiter);
    });
  }

  #serve(): void {
    while (this.#waiting.length > 0 && this.#waiting[0]!.bytes <= this.#free) {
      const { bytes, begin } = this.#waiting.shift()!;
      this.#free -= bytes;
      begin();
    }
  }
}

function tooMany(): Refusal {
  const message = "Too many large requests are being handled. Please try again.";
  return new Refusal("gateway_unavailable", message, { retryAfterMs: 2_000 });
}
