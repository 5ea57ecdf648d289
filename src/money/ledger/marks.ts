import * as z from "zod";
import { rowOf } from "../../ground/row.ts";
import type { Database } from "../../ground/database/mod.ts";
import { type Budget, readBudget } from "./budgets.ts";
import { BUDGET_JSON, periodOf } from "./rules/sql/budgets.ts";
import {
  greatest,
  integersOf,
  jsonArrayOfRows,
  jsonObject,
  jsonOf,
  membersOf,
} from "../../ground/sql/mod.ts";

const lowBalance = z.object({
  accountId: z.string(),
  balance: z.int(),
  lotId: z.string(),
  granted: z.int(),
});

/** A low balance, and the newest lot of its account. */
export type LowBalance = z.output<typeof lowBalance>;

const expiringLot = rowOf({
  id: z.string(),
  account_id: z.string(),
  remaining: z.int(),
  created_at_ms: z.int(),
  expires_at_ms: z.int(),
});

/** A lot that is going to expire. Times are in milliseconds since the epoch. */
export type ExpiringLot = z.output<typeof expiringLot>;

const LOW_BALANCES = jsonArrayOfRows(
  jsonObject("page.account_id as accountId, balance, lots.id as lotId, granted"),
);
const LOW = `with page as materialized (
    select account_id, balance,
      (select id from lots where lots.account_id = balances.account_id
        order by created_at_ms desc, id desc limit 1) as lot_id
    from balances where account_id > ?1 order by account_id limit ?2
  )
  select (select max(account_id) from page) as last, (select count(*) from page) as number, (
    select ${LOW_BALANCES}
    from page join lots on lots.id = lot_id
      left join ${membersOf("?3", "own")} on own.key = page.account_id
    where balance <= coalesce(cast(own.value as bigint), ${greatest("granted * ?4 / 100", "?5")})
  ) as low`;
const EXPIRING = `select id, account_id, remaining, created_at_ms, expires_at_ms from lots
  where remaining > 0 and expires_at_ms < 9007199254740991
    and (expires_at_ms, id) > (?, ?) and expires_at_ms <= ?
  order by expires_at_ms, id limit ?`;
const USED = `with page as materialized (select id from budgets where id > ?1 order by id limit ?2)
  select (select max(id) from page) as last, (select count(*) from page) as number, (
    select ${jsonArrayOfRows(jsonOf(BUDGET_JSON))}
    from page join budgets using (id) join budget_periods on (${periodOf("budgets.id", "?3")})
    where budgets.credits > 0
      and spent * 100 >= budgets.credits * (select min(value) from ${integersOf("marks")})
  ) as used`;

/**
 * Looks for low balances in the next page of accounts, by ID.
 *
 * @param page After which account, and how many to look at.
 * @param threshold A balance is low at this percentage of the newest lot as it was granted, or at this many credits; or,
 *   for single accounts, at the credits in `accounts`.
 * @returns What was found, and after which account to go on; `undefined` at the end.
 */
export async function lowBalances(
  database: Database,
  { after, limit }: { readonly after: string; readonly limit: number },
  { percent, credits, accounts }: {
    readonly percent: number;
    readonly credits: number;
    readonly accounts: Readonly<Record<string, number>>;
  },
): Promise<{ readonly found: readonly LowBalance[]; readonly next: string | undefined }> {
  const row = await database.one(LOW, [
    after,
    limit,
    JSON.stringify(accounts),
    percent,
    credits,
  ]);
  const found = z.array(lowBalance).parse(JSON.parse(String(row!.low)));
  return { found, next: Number(row!.number) < limit ? undefined : String(row!.last) };
}

/**
 * Finds lots with credits that expire within a time, those that expire first.
 *
 * @param range After which lot of the last page, or after which time; up to which time; and how many at most.
 */
export async function expiringLots(
  database: Database,
  { after, toMs, limit }: {
    readonly after: { readonly expiresAtMs: number; readonly id: string };
    readonly toMs: number;
    readonly limit: number;
  },
): Promise<ExpiringLot[]> {
  const rows = await database.all(EXPIRING, [after.expiresAtMs, after.id, toMs, limit]);
  return rows.map((row) => expiringLot.parse(row));
}

/**
 * Looks for budgets of which at least the lowest mark is spent in the present period, raises aside, in the next page of
 * budgets, by ID.
 *
 * @returns What was found, and after which budget to go on; `undefined` at the end.
 */
export async function budgetUses(
  database: Database,
  { after, limit, nowMs }: {
    readonly after: string;
    readonly limit: number;
    readonly nowMs: number;
  },
): Promise<{ readonly found: readonly Budget[]; readonly next: string | undefined }> {
  const row = await database.one(USED, [after, limit, nowMs]);
  const found = z.array(z.unknown()).parse(JSON.parse(String(row!.used)))
    .map((one) => readBudget(one, nowMs));
  return { found, next: Number(row!.number) < limit ? undefined : String(row!.last) };
}
