import type { Database, Statement } from "../../ground/database/mod.ts";
import { lockDay, ROLL_UPS, SUMS } from "../ledger/mod.ts";
import { delay } from "../../ground/std/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import { DAY_MS, HOUR_MS } from "../../ground/time.ts";
import { elementsOf, sumOf } from "../../ground/sql/mod.ts";

/** What a day's totals are told apart by: accounts, models, or values of a tag (or of why requests failed). */
export type TotalsNoun = "account" | "model" | `tag:${string}`;

/** The noun of a tag's totals. */
export function tagNoun(name: string): TotalsNoun {
  return `tag:${name}`;
}

const FIRST_MS = 5_000;
const EVERY_MS = 15 * 60_000;
/** Between two days, so that requests need not wait for many of them. */
const PAUSE_MS = 50;
/** Most requests of a day have ended this long after it: each that ends later takes the day's totals away. */
const GRACE_MS = HOUR_MS;

/** Days with requests that are over and have no totals, the latest first. Those by account are written last. */
const UNSUMMED_DAYS = `
  with recursive days(at_ms) as (
    select max(day_at_ms) from usage_days where day_at_ms <= ?1
    union all
    select (select max(day_at_ms) from usage_days where day_at_ms < at_ms) from days
    where at_ms is not null
  )
  select at_ms from days where at_ms is not null and not exists (
    select 1 from usage_day_totals where day_at_ms = at_ms and noun = 'account'
  )`;

/** Names of tags that a day's requests have. */
const TAGS_OF_DAY = `
  with recursive names(name) as (
    select min(name) from usage_tags
    union all
    select (select min(name) from usage_tags where usage_tags.name > names.name) from names
    where name is not null
  )
  select name from names where exists (
    select 1 from usage_tags
    where usage_tags.name = names.name and span_ms = ${DAY_MS} and at_ms = ?1
  )`;

/** Dependencies of {@linkcode DayTotals}. */
export interface DayTotalsOptions {
  readonly database: Database;
  readonly log: Log;
  readonly now: () => number;
}

/**
 * Adds up days that are over, of all accounts, in the background: reports of a season then read a row for each account, model
 * or tag's value of a day instead of one for each key. A request that ends later takes the totals of its day away, in the
 * transaction that records it (`ledger/rules/`): totals that are there always hold, and reports read the roll-ups of days
 * without any.
 */
export class DayTotals {
  readonly #options: DayTotalsOptions;
  #timers: ReturnType<typeof setTimeout>[] = [];
  #running: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(options: DayTotalsOptions) {
    this.#options = options;
  }

  /** Starts adding up: soon, and then every 15 minutes. */
  start(): void {
    const run = () => {
      this.#running = this.#running.then(() => this.addUp());
    };
    this.#timers = [setTimeout(run, FIRST_MS), setInterval(run, EVERY_MS)];
  }

  /** Stops. Resolves when the day in progress is done. */
  async close(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#running;
  }

  /** Adds up all days that are over and have no totals. Failures are logged, not thrown. */
  async addUp(): Promise<void> {
    const { database, log, now } = this.#options;
    try {
      const rows = await database.all(UNSUMMED_DAYS, [now() - DAY_MS - GRACE_MS]);
      for (const { at_ms: atMs } of rows) {
        if (this.#stopped) return;
        await addUpDay(database, Number(atMs));
        await delay(PAUSE_MS);
      }
    } catch (error) {
      log.warn("usage of past days could not be added up", { error: String(error) });
    }
  }
}

/** Adds up a day: a transaction for each noun, which takes the writer a few milliseconds. */
async function addUpDay(database: Database, dayAtMs: number): Promise<void> {
  const tags = (await database.all(TAGS_OF_DAY, [dayAtMs])).map(({ name }) => String(name));
  for (const tag of tags) {
    await database.batch(totals(dayAtMs, tagNoun(tag), {
      value: "value",
      from: `from usage_tags where name = ?3 and span_ms = ${DAY_MS} and at_ms = ?1`,
      args: [tag],
    }));
  }
  await database.batch(totals(dayAtMs, "model", {
    value: "route",
    from: "from usage_days where day_at_ms = ?1",
  }));
  // last, as they say that the day is done: not if a request has taken the others away meanwhile
  const others = ["model", ...tags.map(tagNoun)];
  await database.batch(totals(dayAtMs, "account", {
    value: "account_id",
    from: `from usage_days where day_at_ms = ?1 and not exists (
      select 1 from ${elementsOf("?3", "others")} where not exists (
        select 1 from usage_day_totals as known
        where known.day_at_ms = ?1 and known.noun = others.value
      )
    )`,
    args: [JSON.stringify(others)],
  }));
}

/** Writes a noun's totals of a day, in place of those that are there. */
function totals(
  dayAtMs: number,
  noun: TotalsNoun,
  { value, from, args = [] }: {
    readonly value: string;
    /** `from` and `where`; its arguments begin with ?3. */
    readonly from: string;
    readonly args?: readonly string[];
  },
): Statement[] {
  return [
    // or a request that ends meanwhile would find none to take away, and not be found itself
    { sql: `select ${lockDay("add up", "?")}`, args: [dayAtMs] },
    { sql: "delete from usage_day_totals where day_at_ms = ? and noun = ?", args: [dayAtMs, noun] },
    {
      sql: `insert into usage_day_totals (${[...ROLL_UPS.usage_day_totals, ...SUMS].join(", ")})
        select ?1, ?2, ${value}, ${SUMS.map(sumOf).join(", ")}
        ${from} group by ${value}`,
      args: [dayAtMs, noun, ...args],
    },
  ];
}
