import type { Database } from "../../ground/database/mod.ts";

/**
 * Takes or keeps the job of looking for alerts, which one of the gateways at a database does.
 *
 * @param holder ID of this gateway's candidate.
 * @returns Whether it has the job, until the lease ends by the database's clock.
 */
export async function takeJob(
  database: Database,
  { holder, nowMs, leaseMs }: {
    readonly holder: string;
    readonly nowMs: number;
    readonly leaseMs: number;
  },
): Promise<boolean> {
  const [rows] = await database.batch([{
    // a lease that ends later than any does comes from a clock that was wrong
    sql: `insert into alert_jobs (name, holder, lease_until_ms) values ('watch', ?1, ?2 + ?3)
      on conflict (name) do update set holder = excluded.holder, lease_until_ms = excluded.lease_until_ms
      where alert_jobs.holder is null or alert_jobs.holder = excluded.holder
        or alert_jobs.lease_until_ms <= ?2 or alert_jobs.lease_until_ms > ?2 + 2 * ?3
      returning holder`,
    args: [holder, nowMs, leaseMs],
  }]);
  return rows!.length === 1;
}

/** Leaves the job to another gateway. */
export async function leaveJob(database: Database, holder: string): Promise<void> {
  await database.batch([{
    sql:
      "update alert_jobs set holder = null, lease_until_ms = 0 where name = 'watch' and holder = ?",
    args: [holder],
  }]);
}

/** What a source of alerts remembers from one pass to the next. */
export interface Memory {
  /** Raised by 1 with each change. */
  readonly revision: number;
  readonly value: string;
}

/** Reads what a source remembers; undefined before the first time. */
export async function memoryOf(database: Database, name: string): Promise<Memory | undefined> {
  const row = await database.one(
    "select done_at_ms as revision, value from alert_jobs where name = ?",
    [name],
  );
  return row === undefined
    ? undefined
    : { revision: Number(row.revision), value: String(row.value) };
}

/** Replaces what a source remembers, if it is still what was read. Returns whether it was. */
export async function remember(
  database: Database,
  name: string,
  { before, value }: { readonly before: Memory | undefined; readonly value: string },
): Promise<boolean> {
  const [rows] = await database.batch([
    before === undefined
      ? {
        sql: `insert into alert_jobs (name, done_at_ms, value) values (?, 1, ?)
          on conflict (name) do nothing returning 1 as found`,
        args: [name, value],
      }
      : {
        sql: `update alert_jobs set value = ?, done_at_ms = done_at_ms + 1
          where name = ? and done_at_ms = ? returning 1 as found`,
        args: [value, name, before.revision],
      },
  ]);
  return rows!.length === 1;
}
