import type { Database } from "../database/mod.ts";
import type { Log } from "../telemetry/mod.ts";

/** How long request records are kept. Roll-ups and entries are kept forever. */
export interface RetentionOptions {
  readonly database: Database;
  readonly log: Log;
  readonly now: () => number;
  /** Max age of records, in days. */
  readonly days: number;
  /** Max number of records. */
  readonly rows: number;
}

const DAY_MS = 86_400_000;
/** Rows per step, which take the writer a few milliseconds. */
const STEP_ROWS = 200;
const PAUSE_MS = 100;
const EVERY_MS = 15 * 60_000;
/** Rate windows are kept this long, in case a clock is wrong. */
const WINDOW_DAYS = 8;

const PRUNE_RECORDS = `
  delete from usage_records where request_id in (
    select request_id from usage_records where request_id < ? order by request_id limit ?
  ) returning 1 as gone`;
const PRUNE_WINDOWS = [["windows", "key_id"], ["account_windows", "account_id"]].map(
  ([table, owner]) => `
  delete from ${table} where (${owner}, span_ms, at_ms) in (
    select ${owner}, span_ms, at_ms from ${table} where at_ms < ? order by span_ms desc limit ?
  ) returning 1 as gone`,
);
/** Older windows are incomplete: the audit only checks later ones. */
const WINDOWS_PRUNED =
  "update pruned_windows set before_ms = max(before_ms, ?) where before_ms < ?";
/** Number of records: all requests of all accounts, minus the pruned ones. */
const KEPT = `
  select (select coalesce(sum(requests), 0) from balances) - (select records from pruned_records)
    as n`;
const NTH_OLDEST = "select request_id from usage_records order by request_id limit 1 offset ?";

/** Deletes old and surplus request records in small steps with pauses. */
export class Retention {
  readonly #options: RetentionOptions;
  #timer: ReturnType<typeof setInterval> | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** Starts pruning every 15 minutes. */
  start(): void {
    this.#timer = setInterval(() => {
      this.#running = this.#running.then(() => this.prune());
    }, EVERY_MS);
  }

  /** Stops pruning. Resolves when the step in progress has ended. */
  async close(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#running;
  }

  /**
   * Prunes now. Failures are logged, not thrown.
   *
   * @returns The number of deleted records; 0 after a failure.
   */
  async prune(): Promise<number> {
    const { database, log, now, days, rows } = this.#options;
    try {
      const oldest = requestIdAt(now() - days * DAY_MS);
      let gone = await this.#steps(PRUNE_RECORDS, oldest);
      const tooMany = Number((await database.one(KEPT))!.n) - rows;
      if (tooMany > 0) {
        const first = await database.one(NTH_OLDEST, [tooMany]);
        if (first !== undefined) gone += await this.#steps(PRUNE_RECORDS, String(first.request_id));
      }
      const windowsBefore = now() - WINDOW_DAYS * DAY_MS;
      await database.batch([{ sql: WINDOWS_PRUNED, args: [windowsBefore, windowsBefore] }]);
      for (const sql of PRUNE_WINDOWS) await this.#steps(sql, windowsBefore);
      return gone;
    } catch (error) {
      log.warn("old records could not be pruned", { error: String(error) });
      return 0;
    }
  }

  async #steps(sql: string, before: string | number): Promise<number> {
    let gone = 0;
    while (!this.#stopped) {
      const [rows] = await this.#options.database.batch([{ sql, args: [before, STEP_ROWS] }]);
      gone += rows!.length;
      if (rows!.length < STEP_ROWS) break;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    return gone;
  }
}

/** Returns a text that sorts before every request ID of that time and later, since IDs begin with their time. */
function requestIdAt(ms: number): string {
  return `req_${Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0")}`;
}
