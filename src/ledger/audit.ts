import { z } from "zod";
import type { Database } from "../database/mod.ts";

/** A row that does not add up. */
export interface Mismatch {
  /** What kind of row: a key of `CHECKS`. */
  readonly kind: string;
  /** The account's, lot's, key's or request's id. */
  readonly id: string;
  /** What is written there. */
  readonly found: number;
  /** What the entries, holds or records add up to. */
  readonly expected: number;
}

/** What re-adding everything found. */
export interface AuditReport {
  readonly accounts: number;
  readonly lots: number;
  readonly entries: number;
  readonly holds: number;
  readonly records: number;
  readonly mismatches: readonly Mismatch[];
  /** Charges that were above what was left; the rest was not taken. */
  readonly uncollected: {
    readonly requests: number;
    readonly credits: number;
  };
}

/** Mismatches that are named at the most, per kind. */
const MOST = 100;

/**
 * Every check as one query of what is off: id, found, expected. One statement sees one state of the
 * database, so that a check is right however busy the gateway is.
 */
const CHECKS: Readonly<Record<string, string>> = {
  lot: `
    select lots.id, remaining as found, coalesce(total, 0) as expected
    from lots left join (select lot_id, sum(credits) as total from entries group by lot_id)
      on lot_id = lots.id
    where remaining <> coalesce(total, 0)`,
  balance: `
    select account_id as id, balance as found,
      coalesce((select sum(remaining) from lots where lots.account_id = balances.account_id), 0)
        as expected
    from balances
    where balance <>
      coalesce((select sum(remaining) from lots where lots.account_id = balances.account_id), 0)`,
  granted: `
    select lots.id, granted as found, coalesce(credits, 0) as expected
    from lots left join entries on cause_id = lots.id and lot_id = lots.id and kind = 'grant'
    where granted <> coalesce(credits, 0)`,
  owner: `
    select lots.id, 0 as found, 1 as expected
    from entries join lots on lots.id = lot_id where lots.account_id <> entries.account_id`,
  held: `
    select balances.account_id as id, held as found, coalesce(total, 0) as expected
    from balances left join (select account_id, sum(credits) as total from holds group by 1) as sums
      on sums.account_id = balances.account_id
    where held <> coalesce(total, 0)`,
  budget: `
    select budgets.key_id as id, held as found, coalesce(total, 0) as expected
    from budgets left join (select key_id, sum(credits) as total from holds group by 1) as sums
      on sums.key_id = budgets.key_id
    where held <> coalesce(total, 0)`,
  spent: `
    select budgets.key_id as id, spent as found, coalesce(total, 0) as expected
    from budgets left join
      (select key_id, sum(credits) as total from usage_hours group by 1) as sums
      on sums.key_id = budgets.key_id
    where spent <> coalesce(total, 0)`,
  allowed: `
    select key_id as id, credits as found, coalesce(budget_credits, 0) as expected
    from budgets left join keys on keys.id = key_id
    where credits is not budget_credits`,
  ended: `
    select request_id as id, credits as found, 0 as expected
    from holds where request_id in (select request_id from usage_records)`,
  expired: `
    select lots.id, at_ms as found, expires_at_ms as expected
    from entries join lots on lots.id = lot_id where kind = 'expire' and at_ms < expires_at_ms`,
  consumed: `
    select balances.account_id as id, consumed as found, coalesce(total, 0) as expected
    from balances left join
      (select account_id, -sum(credits) as total from entries where kind = 'charge' group by 1)
      as sums on sums.account_id = balances.account_id
    where consumed <> coalesce(total, 0)`,
  hours: `
    select balances.account_id as id, coalesce(total, 0) as found, consumed as expected
    from balances left join
      (select account_id, sum(credits) as total from usage_hours group by 1) as sums
      on sums.account_id = balances.account_id
    where consumed <> coalesce(total, 0)`,
  requests: `
    select balances.account_id as id, requests as found, coalesce(total, 0) as expected
    from balances left join
      (select account_id, sum(requests) as total from usage_hours group by 1) as sums
      on sums.account_id = balances.account_id
    where requests <> coalesce(total, 0)`,
  record: `
    select request_id as id, charged_credits as found,
      coalesce((select -sum(credits) from entries where cause_id = request_id), 0) as expected
    from usage_records
    where charged_credits <>
      coalesce((select -sum(credits) from entries where cause_id = request_id), 0)`,
};

const checkRow = z.object({ id: z.string(), found: z.int(), expected: z.int() });

/**
 * Re-adds everything. Writers are not held up.
 *
 * @param progress Called with the name of each check before it runs.
 */
export async function audit(
  database: Database,
  progress: (check: string) => void = () => {},
): Promise<AuditReport> {
  const mismatches: Mismatch[] = [];
  for (const [kind, sql] of Object.entries(CHECKS)) {
    progress(kind);
    const rows = await database.all(`${sql} limit ${MOST}`);
    mismatches.push(...rows.map((row) => ({ kind, ...checkRow.parse(row) })));
  }
  progress("counts");
  const count = async (table: string) =>
    Number((await database.one(`select count(*) as n from ${table}`))!.n);
  const uncollected = await database.one(
    `select count(*) + (select uncollected_requests from pruned_records) as requests,
        coalesce(sum(price_credits - charged_credits), 0)
          + (select uncollected_credits from pruned_records) as credits
      from usage_records where charged_credits < price_credits`,
  );
  return {
    accounts: await count("accounts"),
    lots: await count("lots"),
    entries: await count("entries"),
    holds: await count("holds"),
    records: await count("usage_records"),
    mismatches,
    uncollected: {
      requests: Number(uncollected!.requests),
      credits: Number(uncollected!.credits),
    },
  };
}
