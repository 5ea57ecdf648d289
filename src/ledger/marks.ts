import * as z from "zod";
import type { Database } from "../database/mod.ts";

const lowBalance = z.object({
  accountId: z.string(),
  balance: z.int(),
  lotId: z.string(),
  granted: z.int(),
});

/** A low balance, and the newest lot of its account. */
export type LowBalance = z.output<typeof lowBalance>;

/** A lot that is going to expire. Times are in milliseconds since the epoch. */
export interface ExpiringLot {
  readonly id: string;
  readonly accountId: string;
  readonly remaining: number;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** How much of a key's budget is spent, in credits. */
export interface BudgetUse {
  readonly keyId: string;
  readonly credits: number;
  readonly spent: number;
}

const LOW = `with page as materialized (
    select account_id, balance,
      (select id from lots where lots.account_id = balances.account_id
        order by created_at_ms desc, id desc limit 1) as lot_id
    from balances where account_id > ?1 order by account_id limit ?2
  )
  select (select max(account_id) from page) as last, (select count(*) from page) as number, (
    select json_group_array(json_object('accountId', page.account_id, 'balance', balance,
      'lotId', lots.id, 'granted', granted))
    from page join lots on lots.id = lot_id
      left join json_each(?3) as own on own.key = page.account_id
    where balance <= coalesce(own.value, max(granted * ?4 / 100, ?5))
  ) as low`;
const EXPIRING = `select id, account_id, remaining, created_at_ms, expires_at_ms from lots
  where remaining > 0 and expires_at_ms < 9007199254740991
    and (expires_at_ms, id) > (?, ?) and expires_at_ms <= ?
  order by expires_at_ms, id limit ?`;
const USED = `with page as materialized (
    select key_id, credits, spent from budgets where key_id > ?1 order by key_id limit ?2
  )
  select (select max(key_id) from page) as last, (select count(*) from page) as number, (
    select json_group_array(json_object('keyId', key_id, 'credits', credits, 'spent', spent))
    from page where credits > 0 and spent * 100 >= credits * ?3
  ) as used`;

const budgetUse = z.object({ keyId: z.string(), credits: z.int(), spent: z.int() });

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
  return rows.map((row) => ({
    id: String(row.id),
    accountId: String(row.account_id),
    remaining: Number(row.remaining),
    createdAtMs: Number(row.created_at_ms),
    expiresAtMs: Number(row.expires_at_ms),
  }));
}

/**
 * Looks for budgets that are spent to a percentage, in the next page of keys with a budget, by ID.
 *
 * @returns What was found, and after which key to go on; `undefined` at the end.
 */
export async function budgetUses(
  database: Database,
  { after, limit, percent }: {
    readonly after: string;
    readonly limit: number;
    readonly percent: number;
  },
): Promise<{ readonly found: readonly BudgetUse[]; readonly next: string | undefined }> {
  const row = await database.one(USED, [after, limit, percent]);
  const found = z.array(budgetUse).parse(JSON.parse(String(row!.used)));
  return { found, next: Number(row!.number) < limit ? undefined : String(row!.last) };
}
