import { DatabaseError } from "../database/mod.ts";
import type { Log } from "../telemetry/mod.ts";
import type { Payments } from "./payments.ts";

const EVERY_MS = 3 * 60_000;
/** Each so many sweeps the events of the last day are read too. */
const EVENTS_EVERY = 20;
const EVENTS_MS = 26 * 3_600_000;

/** Looks for what webhooks have lost, every three minutes. Several gateways may do so: nothing takes effect twice. */
export class PaymentSweep implements AsyncDisposable {
  readonly #payments: () => Payments;
  readonly #log: Log;
  readonly #now: () => number;
  #timer: ReturnType<typeof setInterval> | undefined;
  #running: Promise<void> = Promise.resolve();
  #isOver = false;
  #count = 0;

  /** @param payments The payments of the settings in use. */
  constructor(
    payments: () => Payments,
    { log, now }: { readonly log: Log; readonly now: () => number },
  ) {
    this.#payments = payments;
    this.#log = log;
    this.#now = now;
  }

  /** Starts. */
  start(): void {
    this.#timer = setInterval(() => this.sweep(), EVERY_MS);
  }

  /** Sweeps now, after the sweep in progress. Failures are logged. */
  sweep(): Promise<void> {
    return this.#running = this.#running.then(() => this.#sweep());
  }

  async #sweep(): Promise<void> {
    if (this.#isOver) return;
    const readsEvents = this.#count++ % EVENTS_EVERY === 0;
    try {
      const { changed, events, collected, faults } = await this.#payments().reconcile({
        eventsSinceMs: readsEvents ? this.#now() - EVENTS_MS : undefined,
      });
      if (changed + events + collected > 0) {
        this.#log.warn("payments found that no webhook had brought", {
          changed,
          events,
          collected,
        });
      }
      for (const fault of faults) this.#log.warn("payments not swept", { error: fault });
    } catch (error) {
      this.#log.error("payments not swept", {
        error: error instanceof DatabaseError ? error.message : String(error),
      });
    }
  }

  /** Ends. Resolves when the sweep in progress has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    clearInterval(this.#timer);
    await this.#running;
  }
}
