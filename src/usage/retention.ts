import type { Database } from "../database/mod.ts";
import type { Log } from "../telemetry/mod.ts";
import { delay } from "../std/mod.ts";

/** How long single request records are kept. Roll-ups and entries stay. */
export interface RetentionOptions {
  readonly database: Database;
  readonly log: Log;
  readonly now: () => number;
  readonly days: number;
  readonly rows: number;
}

const DAY_MS = 86_400_000;
/** Rows in one step: a few milliseconds of the writer's time. */
const STEP_ROWS = 200;
const PAUSE_MS = 100;
const EVERY_MS = 15 * 60_000;
/** Request windows are kept for as long as a clock may be wrong. */
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
/** Windows from before this are no longer complete; the audit looks at those from then on. */
const WINDOWS_PRUNED =
  "update pruned_windows set before_ms = max(before_ms, ?) where before_ms < ?";
/** Every record is counted by its account, and when it is deleted. */
const KEPT = `
  select (select coalesce(sum(requests), 0) from balances) - (select records from pruned_records)
    as n`;
const NTH_OLDEST = "select request_id from usage_records order by request_id limit 1 offset ?";

/** Deletes records that are old or too many, in small steps with pauses in between. */
export class Retention {
  readonly #options: RetentionOptions;
  #timer: ReturnType<typeof setInterval> | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** Begins to prune, now and then. */
  start(): void {
    this.#timer = setInterval(() => {
      this.#running = this.#running.then(() => this.prune());
    }, EVERY_MS);
  }

  async close(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#running;
  }

  /** Prunes what there is; answers how many records went. */
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
      await delay(PAUSE_MS);
    }
    return gone;
  }
}

/** What sorts before every request id of that time and after: ids begin with their time. */
function requestIdAt(ms: number): string {
  return `req_${Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0")}`;
}
