import type { Database } from "../../ground/database/mod.ts";
import { findSurplus, pruneExpired } from "../../wire/kept_items/mod.ts";
import { pruneWindows, settledRequests } from "../ledger/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import { requestIdAt } from "./records.ts";
import { delay } from "../../ground/std/mod.ts";
import { DAY_MS } from "../../ground/time.ts";

/** How long request records are kept. Roll-ups and entries are kept forever. */
export interface RetentionLimits {
  /** Max age of records, in days. */
  readonly days: number;
  /** Max number of records. */
  readonly rows: number;
  /** Max age of the log of operations, in days. */
  readonly logDays?: number | undefined;
}

/** Deletes some of what is too old. @returns Whether there may be more. */
export type PruneStep = (
  options: { readonly nowMs: number; readonly limit: number; readonly limits: RetentionLimits },
) => Promise<boolean>;

/** Dependencies and first limits of {@linkcode Retention}. */
export interface RetentionOptions extends RetentionLimits {
  readonly database: Database;
  readonly log: Log;
  readonly now: () => number;
  /** What other folders prune at the same time. */
  readonly others?: readonly PruneStep[];
}

/** Rows per step, which take the writer a few milliseconds. */
const STEP_ROWS = 200;
const PAUSE_MS = 100;
const EVERY_MS = 15 * 60_000;
/** The same for what is kept for an hour at most. */
const ITEMS_EVERY_MS = 60_000;
/** Rate windows are kept this long, in case a clock is wrong. */
const WINDOW_DAYS = 8;

const PRUNE_RECORDS = `
  delete from usage_records where request_id in (
    select request_id from usage_records where request_id < ? order by request_id limit ?
  ) returning 1 as gone`;
/** Every record was counted by its account, and is counted again when it is deleted. */
const PRUNED = "select records from pruned_records";
const NTH_OLDEST = "select request_id from usage_records order by request_id limit 1 offset ?";

/** Deletes old and surplus request records in small steps with pauses. */
export class Retention {
  readonly #options: RetentionOptions;
  /** The limits of the next pruning. */
  limits: RetentionLimits;
  #timers: ReturnType<typeof setInterval>[] = [];
  #running: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.limits = options;
  }

  /** Starts pruning: records every 15 minutes, kept items every minute. */
  start(): void {
    const every = (ms: number, prune: () => Promise<unknown>) =>
      setInterval(() => {
        this.#running = this.#running.then(prune);
      }, ms);
    this.#timers = [
      every(EVERY_MS, () => this.prune()),
      every(ITEMS_EVERY_MS, () => this.pruneItems()),
    ];
  }

  /** Stops pruning. Resolves when the step in progress has ended. */
  async close(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#running;
  }

  /**
   * Prunes now. Failures are logged, not thrown.
   *
   * @returns The number of deleted records; 0 after a failure.
   */
  async prune(): Promise<number> {
    const { database, log, now } = this.#options;
    const { days, rows } = this.limits;
    let gone = 0;
    const pruneRecords = (before: string) =>
      this.#steps(async () => {
        const [some] = await database.batch([{ sql: PRUNE_RECORDS, args: [before, STEP_ROWS] }]);
        gone += some!.length;
        return some!.length === STEP_ROWS;
      });
    try {
      await pruneRecords(requestIdAt(now() - days * DAY_MS));
      const settled = await settledRequests(database);
      const tooMany = settled - Number((await database.one(PRUNED))!.records) - rows;
      if (tooMany > 0) {
        const first = await database.one(NTH_OLDEST, [tooMany]);
        if (first !== undefined) await pruneRecords(String(first.request_id));
      }
      const beforeMs = now() - WINDOW_DAYS * DAY_MS;
      await this.#steps(() => pruneWindows(database, { beforeMs, limit: STEP_ROWS }));
      for (const prune of this.#options.others ?? []) {
        await this.#steps(() => prune({ nowMs: now(), limit: STEP_ROWS, limits: this.limits }));
      }
      return gone;
    } catch (error) {
      log.warn("old records could not be pruned", { error: String(error) });
      return 0;
    }
  }

  /** Prunes kept items: expired ones, and the oldest where there are too many. Failures are logged, not thrown. */
  async pruneItems(): Promise<void> {
    const { database, log, now } = this.#options;
    const pruneBefore = (nowMs: number) =>
      this.#steps(() => pruneExpired(database, { nowMs, limit: STEP_ROWS }));
    try {
      await pruneBefore(now());
      const surplusMs = await findSurplus(database);
      if (surplusMs !== undefined) await pruneBefore(surplusMs);
    } catch (error) {
      log.warn("kept items could not be pruned", { error: String(error) });
    }
  }

  /** @param step Returns whether there may be more to do. */
  async #steps(step: () => Promise<boolean>): Promise<void> {
    while (!this.#stopped && await step()) {
      await delay(PAUSE_MS);
    }
  }
}
