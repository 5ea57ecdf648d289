import type { Resolve } from "../../requests/images/mod.ts";
import type { UpstreamState } from "../../requests/upstreams/mod.ts";
import { circuitConditions } from "./circuits.ts";
import { Deliveries } from "./deliveries.ts";
import { diskCondition, type DiskSpace, diskSpace } from "./disk.ts";
import { type Backoff, Outbox } from "./outbox.ts";
import { DatabaseAlert } from "./database_alert.ts";
import { departureAlerts } from "./departures.ts";
import { Watch, type WatchOptions, type WatchTimes } from "./watch.ts";

/** Dependencies of {@linkcode Alerts}. */
export interface AlertsOptions
  extends Omit<WatchOptions, "outbox" | "see" | "alerts" | "raised" | "times"> {
  /** The data directory, whose disk is watched. */
  readonly directory: string;
  readonly upstreams: () => Promise<readonly UpstreamState[]>;
  /** How host names become addresses. */
  readonly resolve: Resolve;
  readonly times?: AlertTimes | undefined;
}

/** How fast alerts are; tests are faster. */
export interface AlertTimes {
  readonly watch?: WatchTimes;
  readonly deliverEveryMs?: number;
  readonly backoff?: Backoff;
  /** How long the database must be away to be worth an alert. */
  readonly databaseAfterMs?: number;
  readonly diskSpace?: (directory: string) => Promise<DiskSpace>;
}

/** Looks for alerts and delivers them, from its start until it is closed. */
export class Alerts {
  readonly outbox: Outbox;
  readonly watch: Watch;
  readonly deliveries: Deliveries;
  /** Sends without the database. */
  readonly database: DatabaseAlert;
  #closed: Promise<void> | undefined;

  constructor(options: AlertsOptions) {
    const { times = {}, ...parts } = options;
    const { database, directory, upstreams, now } = parts;
    const afterMs = times.databaseAfterMs;
    this.database = new DatabaseAlert({ ...parts, place: database.place, afterMs });
    this.outbox = new Outbox(database, now, times.backoff);
    const everyMs = times.deliverEveryMs;
    this.deliveries = new Deliveries({ ...parts, outbox: this.outbox, everyMs });
    const readSpace = times.diskSpace ?? diskSpace;
    this.watch = new Watch({
      ...parts,
      outbox: this.outbox,
      see: async () => {
        // some file systems cannot say how full they are
        const space = await readSpace(directory).catch(() => undefined);
        const disk = space && diskCondition(directory, space);
        return [...circuitConditions(await upstreams()), ...(disk === undefined ? [] : [disk])];
      },
      alerts: async () => departureAlerts(await upstreams(), now()),
      raised: () => this.deliveries.wake(),
      times: times.watch,
    });
  }

  start(): void {
    this.watch.start();
    this.deliveries.start();
  }

  /** Stops; a second time without effect. */
  close(): Promise<void> {
    const parts = [this.watch, this.deliveries, this.database];
    return this.#closed ??= Promise.all(parts.map((part) => part.close())).then(() => {});
  }
}
