import { type Database, greatest, least, type Value } from "../../ground/database/mod.ts";
import { findSurplus, pruneExpired } from "../../wire/kept_items/mod.ts";
import { pruneWindows, SETTLED_REQUESTS } from "../ledger/mod.ts";
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
  /** A clock that nobody sets, in milliseconds; tests pass their own. Default: `performance.now()`. */
  readonly monotonicNow?: (() => number) | undefined;
  /** Waits for milliseconds; tests do not. */
  readonly delay?: ((ms: number) => Promise<void>) | undefined;
}

/** Rows per step, which take the writer a few milliseconds. */
const STEP_ROWS = 200;
/** Max rest after a step. */
const MAX_REST_MS = 100;
/** Often, so that there is little each time; a gateway at its limit settles some hundred thousand requests meanwhile. */
const EVERY_MS = 60_000;
/** Rate windows are kept this long, in case a clock is wrong. */
const WINDOW_DAYS = 8;

/** Deletes the oldest records. */
const pruneRecords = (which: string, limit: string) => `
  delete from usage_records where request_id in (
    select request_id from usage_records ${which} order by request_id limit ${limit}
  ) returning 1 as gone`;
const PRUNE_OLD = pruneRecords("where request_id < ?1", "?2");
/**
 * Every record was counted by its account, and is counted again when it is deleted: none is looked for, and what another gateway deletes
 * at the same time is not deleted for a second time in others.
 */
const PRUNE_SURPLUS = pruneRecords(
  "",
  least("?2", greatest("0", `(${SETTLED_REQUESTS}) - (select records from pruned_records) - ?1`)),
);

/** Deletes old and surplus request records in small steps with pauses. */
export class Retention {
  readonly #options: RetentionOptions;
  /** The limits of the next pruning. */
  limits: RetentionLimits;
  readonly #monotonicNow: () => number;
  readonly #rest: (ms: number) => Promise<void>;
  #timer: ReturnType<typeof setInterval> | undefined;
  #running: Promise<void> | undefined;
  /** Whether records of the last round are left: then steps do not rest. */
  #isBehind = false;
  #stopped = false;

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.limits = options;
    this.#monotonicNow = options.monotonicNow ?? (() => performance.now());
    this.#rest = options.delay ?? delay;
  }

  /** Starts pruning, every minute. */
  start(): void {
    this.#timer = setInterval(() => {
      this.#running ??= this.pruneAll().finally(() => this.#running = undefined);
    }, EVERY_MS);
  }

  /** Stops pruning. Resolves when the step in progress has ended. */
  async close(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#running;
  }

  /** Prunes everything, until no more than a minute's records are left. Failures are logged, not thrown. */
  async pruneAll(): Promise<void> {
    do {
      await this.pruneItems();
      await this.prune();
    } while (this.#isBehind && !this.#stopped);
  }

  /**
   * Prunes now; kept items not, and records for a minute at most. Failures are logged, not thrown.
   *
   * @returns The number of deleted records; 0 after a failure.
   */
  async prune(): Promise<number> {
    const { database, log, now, others = [] } = this.#options;
    const { days, rows } = this.limits;
    let gone = 0;
    try {
      const beforeMs = now() - WINDOW_DAYS * DAY_MS;
      await this.#steps(() => pruneWindows(database, { beforeMs, limit: STEP_ROWS }));
      for (const prune of others) {
        await this.#steps(() => prune({ nowMs: now(), limit: STEP_ROWS, limits: this.limits }));
      }
      const untilTick = this.#monotonicNow() + EVERY_MS;
      let isLate = false;
      const pruneRecords = (sql: string, limit: Value) =>
        this.#steps(async () => {
          const [some] = await database.batch([{ sql, args: [limit, STEP_ROWS] }]);
          gone += some!.length;
          const isMore = some!.length === STEP_ROWS;
          isLate = isMore && this.#monotonicNow() >= untilTick;
          return isMore && !isLate;
        });
      await pruneRecords(PRUNE_OLD, requestIdAt(now() - days * DAY_MS));
      if (!isLate) await pruneRecords(PRUNE_SURPLUS, rows);
      this.#isBehind = isLate;
      return gone;
    } catch (error) {
      this.#isBehind = false;
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

  /**
   * Rests after a step for as long as it took, and so gives way to whatever it had to wait for, unless pruning is behind.
   *
   * @param step Returns whether there may be more to do.
   */
  async #steps(step: () => Promise<boolean>): Promise<void> {
    while (!this.#stopped) {
      const startedTick = this.#monotonicNow();
      if (!await step()) return;
      const tookMs = this.#monotonicNow() - startedTick;
      if (!this.#isBehind) await this.#rest(Math.min(tookMs, MAX_REST_MS));
    }
  }
}
