import type { ProxySettings, Settings } from "../../settings/config/mod.ts";
import type { Resolve } from "../../requests/images/mod.ts";
import { delay } from "../../ground/std/mod.ts";
import type { Log, Metrics } from "../../ground/telemetry/mod.ts";
import type { Claim, DeliveryOutcome, Outbox } from "./outbox.ts";
import { sendAlerts } from "./send.ts";

/** Settings of alerts. */
export type AlertSettings = Settings["alerts"] & { readonly proxies?: ProxySettings };

/** Dependencies of {@linkcode Deliveries}. */
export interface DeliveriesOptions {
  readonly outbox: Outbox;
  /** The settings in use. */
  readonly settings: () => AlertSettings;
  readonly resolve: Resolve;
  readonly log: Log;
  readonly metrics: Metrics;
  /** The database's clock, in milliseconds since the epoch. */
  readonly now: () => number;
  /** Interval of looks for what is due. */
  readonly everyMs?: number | undefined;
}

const EVERY_MS = 5_000;
/** Alerts that one delivery carries. */
const MAX_ALERTS = 50;
/** What a claim lasts beyond the time of a delivery, so that the outcome can be written. */
const LEASE_SLACK_MS = 30_000;
/** A receiver that fails is left alone by this gateway, at most so long. */
const MAX_PAUSE_MS = 60_000;
/** Time for deliveries in progress when the gateway stops. */
const STOP_MS = 2_000;
/** How long the outcome of a delivery is tried to be written, should the database be away; at most so long between attempts. */
const WRITE_MS = 3_600_000;
const MAX_WRITE_WAIT_MS = 5_000;

interface ReceiverState {
  failures: number;
  pausedUntilTick: number;
  sending: Promise<void> | undefined;
}

/** Delivers what is due: to each receiver one delivery at a time, so that none waits for another. */
export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #states = new Map<string, ReceiverState>();
  readonly #closing = new AbortController();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  /** Starts looking for what is due: at once, and again and again. */
  start(): void {
    this.#timer = setInterval(() => this.wake(), this.#options.everyMs ?? EVERY_MS);
    this.wake();
  }

  /** Looks now. */
  wake(): void {
    for (const name of Object.keys(this.#options.settings().receivers)) {
      let state = this.#states.get(name);
      if (state === undefined) {
        state = { failures: 0, pausedUntilTick: 0, sending: undefined };
        this.#states.set(name, state);
      }
      if (state.sending !== undefined || performance.now() < state.pausedUntilTick) continue;
      const one = state;
      one.sending = this.#deliverAll(name, one)
        .catch((error) =>
          this.#options.log.warn("alerts could not be delivered", { error: String(error) })
        )
        .finally(() => one.sending = undefined);
    }
  }

  /** Stops. Deliveries in progress have two seconds. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const all = Promise.all([...this.#states.values()].map(({ sending }) => sending));
    const cut = setTimeout(() => this.#closing.abort(), STOP_MS);
    this.#stop.abort();
    await all;
    clearTimeout(cut);
    this.#closing.abort();
  }

  /** Aborted when no further delivery begins. */
  readonly #stop = new AbortController();

  async #deliverAll(name: string, state: ReceiverState): Promise<void> {
    const { outbox, settings, resolve, now, log, metrics } = this.#options;
    while (!this.#stop.signal.aborted) {
      const current = settings();
      const receiver = current.receivers[name];
      if (receiver === undefined) return;
      const claim = await outbox.claim(name, {
        limit: MAX_ALERTS,
        leaseMs: current.timeoutMs + LEASE_SLACK_MS,
      });
      if (claim === undefined) return;
      const outcome = await sendAlerts(receiver, claim.alerts, {
        ...current,
        resolve,
        nowMs: now(),
        deliveryId: claim.token,
        signal: this.#closing.signal,
      });
      const givenUp = await this.#finish(claim, outcome);
      metrics.alertDeliveries(name, outcome.error === null ? "delivered" : "failed", 1);
      if (outcome.error === null) {
        state.failures = 0;
        continue;
      }
      if (givenUp > 0) metrics.alertDeliveries(name, "given_up", givenUp);
      const what = "alerts were not delivered";
      const failed = { receiver: name, alerts: claim.alerts.length, error: outcome.error };
      if (givenUp > 0) log.error(what, { ...failed, given_up: givenUp });
      else log.warn(what, failed);
      const pauseMs = Math.min(MAX_PAUSE_MS, outbox.firstPauseMs * 2 ** state.failures++);
      state.pausedUntilTick = performance.now() + pauseMs * (0.5 + Math.random() / 2);
      return;
    }
  }

  /** What has arrived is written down once the database is back: otherwise it would be delivered again. */
  async #finish(claim: Claim, outcome: DeliveryOutcome): Promise<number> {
    const startedTick = performance.now();
    for (let attempt = 1;; attempt++) {
      try {
        return await this.#options.outbox.finish(claim, outcome);
      } catch (error) {
        if (this.#stop.signal.aborted || performance.now() - startedTick > WRITE_MS) throw error;
        const waitMs = Math.min(500 * attempt, MAX_WRITE_WAIT_MS);
        await delay(waitMs, { signal: this.#stop.signal }).catch(() => {});
      }
    }
  }
}
