import { newId } from "../../ground/platform/mod.ts";
import { delay } from "../../ground/std/mod.ts";
import type { SentAlert } from "./alert.ts";
import type { DeliveriesOptions } from "./deliveries.ts";
import { sendAlerts } from "./send.ts";

/** Dependencies of {@linkcode DatabaseAlert}. */
export interface DatabaseAlertOptions extends Omit<DeliveriesOptions, "outbox" | "everyMs"> {
  /** Path or address of the database, for people. */
  readonly place: string;
  /** A failure that is over before is not worth an alert. */
  readonly afterMs?: number | undefined;
  /** Pause after the first attempt to deliver that failed; each further one is longer by as much. */
  readonly pauseMs?: number;
}

const AFTER_MS = 5_000;
const PAUSE_MS = 10_000;
const ATTEMPTS = 6;

/**
 * The alert that the database cannot be used, and the one that it can be again. They are sent from memory: the outbox is in that database.
 */
export class DatabaseAlert {
  readonly #options: DatabaseAlertOptions;
  readonly #closing = new AbortController();
  readonly #sending = new Set<Promise<void>>();
  #why = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isTold = false;

  constructor(options: DatabaseAlertOptions) {
    this.#options = options;
  }

  /** Notes that the database cannot be used, and why. */
  away(why: string): void {
    this.#why = why;
    if (this.#closing.signal.aborted) return;
    this.#timer ??= setTimeout(() => {
      this.#isTold = true;
      this.#send("database_down", "Database cannot be used", this.#why);
    }, this.#options.afterMs ?? AFTER_MS);
  }

  /** Notes that it can be used again. */
  back(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#isTold) return;
    this.#isTold = false;
    this.#send("database_up", "Database can be used again", "Requests are served again.");
  }

  /** Stops. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#closing.abort();
    await Promise.all(this.#sending);
  }

  #send(kind: "database_down" | "database_up", title: string, text: string): void {
    const { settings, now, place, metrics } = this.#options;
    const id = newId("alert");
    const alert: SentAlert = {
      id,
      mark: `${kind}:${id}`,
      kind,
      accountId: null,
      teamId: null,
      title: `${title}: ${place}`,
      text,
      data: { database: place },
      createdAtMs: now(),
    };
    metrics.alertsRaised(kind, 1);
    for (const [name, receiver] of Object.entries(settings().receivers)) {
      if (!receiver.alerts.includes(kind)) continue;
      const sending = this.#deliver(name, alert).finally(() => this.#sending.delete(sending));
      this.#sending.add(sending);
    }
  }

  async #deliver(name: string, alert: SentAlert): Promise<void> {
    const { settings, resolve, now, log, metrics, pauseMs = PAUSE_MS } = this.#options;
    const { signal } = this.#closing;
    for (let attempt = 1; attempt <= ATTEMPTS && !signal.aborted; attempt++) {
      const current = settings();
      const receiver = current.receivers[name];
      if (receiver === undefined) return;
      const { error } = await sendAlerts(receiver, [alert], {
        ...current,
        resolve,
        nowMs: now(),
        deliveryId: alert.id,
        signal,
      });
      metrics.alertDeliveries(name, error === null ? "delivered" : "failed", 1);
      if (error === null) return;
      log.warn("alerts were not delivered", { receiver: name, alerts: 1, error });
      await delay(pauseMs * attempt, { signal }).catch(() => {});
    }
  }
}
