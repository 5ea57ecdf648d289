import { DatabaseError } from "../../ground/database/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import type { Payments } from "./payments.ts";

const EVERY_MS = 60_000;
/** Minutes between sweeps. */
const SWEEP_EVERY = 3;
/** Sweeps after which the events of the last day are read too. */
const EVENTS_EVERY = 20;
const EVENTS_MS = 26 * 3_600_000;

/**
 * Looks for what webhooks have lost, every three minutes, and makes automatic purchases, every minute. Several gateways may
 * do so: nothing takes effect twice.
 */
export class PaymentSweep implements AsyncDisposable {
  readonly #payments: () => Payments;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #toppedUp: () => Promise<void>;
  #timer: ReturnType<typeof setInterval> | undefined;
  #running: Promise<void> = Promise.resolve();
  #isOver = false;
  #minutes = 0;
  #count = 0;

  /**
   * @param payments The payments of the settings in use.
   * @param options `toppedUp` is called after automatic purchases, of which some may have stopped.
   */
  constructor(
    payments: () => Payments,
    { log, now, toppedUp = () => Promise.resolve() }: {
      readonly log: Log;
      readonly now: () => number;
      readonly toppedUp?: () => Promise<void>;
    },
  ) {
    this.#payments = payments;
    this.#log = log;
    this.#now = now;
    this.#toppedUp = toppedUp;
  }

  start(): void {
    this.#timer = setInterval(() => {
      void this.topUp();
      if (++this.#minutes % SWEEP_EVERY === 0) void this.sweep();
    }, EVERY_MS);
  }

  /** Sweeps now, after the sweep in progress. Failures are logged. */
  sweep(): Promise<void> {
    return this.#running = this.#running.then(() => this.#sweep());
  }

  /** Makes automatic purchases now, after what is in progress. Failures are logged. */
  topUp(): Promise<void> {
    return this.#running = this.#running.then(async () => {
      if (this.#isOver) return;
      try {
        await this.#payments().runTopUps();
        await this.#toppedUp();
      } catch (error) {
        this.#log.error("automatic top-ups failed", { error: String(error) });
      }
    });
  }

  async #sweep(): Promise<void> {
    if (this.#isOver) return;
    const readsEvents = this.#count++ % EVENTS_EVERY === 0;
    try {
      const payments = this.#payments();
      const { changed, events, collected, faults } = await payments.reconcile({
        eventsSinceMs: readsEvents ? this.#now() - EVENTS_MS : undefined,
      });
      if (changed + events + collected > 0) {
        this.#log.warn("payments found that no webhook had brought", {
          changed,
          events,
          collected,
        });
      }
      if (faults.length === 0) await payments.swept();
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
