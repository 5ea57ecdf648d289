import type { Condition, Database, Statement } from "../database/mod.ts";
import { awaitReturns, recallLoans } from "./loans.ts";

/** Credits that are to be taken back. */
export interface TakeBackRequest {
  /** Two of the same id are one. */
  readonly id: string;
  readonly accountId: string;
  readonly lotId: string;
  /** Undefined for all that is left. */
  readonly credits?: number | undefined;
  readonly note: string;
  readonly atMs: number;
  /** How long gateways have to return what they were lent; 2 s by default. */
  readonly patienceMs?: number;
  /** Statements to run in the same transaction. */
  readonly also?: readonly Statement[] | undefined;
}

/** Credits that were taken back. */
export interface TakeBack {
  readonly lotId: string;
  readonly credits: number;
  /** How many were asked for; undefined for all that was left. */
  readonly wanted: number | undefined;
  /** What was taken of the bonus that the purchase had earned an inviter. */
  readonly bonusCredits: number;
  /** Whether an earlier request of the same id took them. */
  readonly isRepeated: boolean;
}

/** What is left of a lot, and how much of its account's balance is not held. */
export interface Takeable {
  readonly remaining: number;
  readonly free: number;
}

/**
 * Takes back what is left of a lot, or as much of it as was asked for. What in-flight requests hold is left
 * alone; what is lent to gateways is recalled first. The purchase that was an account's first payment, taken back whole, takes its bonus with it.
 *
 * @returns undefined if nothing could be taken.
 */
export async function takeBack(
  database: Database,
  { id, accountId, lotId, credits, note, atMs, patienceMs, also = [] }: TakeBackRequest,
): Promise<TakeBack | undefined> {
  const isLent = await recallLoans(database, accountId);
  if (isLent) await awaitReturns(database, { accountId, patienceMs });
  const [before, , after] = await database.batch([
    { sql: "select 1 from take_backs where id = ?", args: [id] },
    {
      sql: `insert into take_back_requests (id, account_id, lot_id, wanted, note, at_ms)
        values (?, ?, ?, cast(? as integer), ?, cast(? as integer))`,
      args: [id, accountId, lotId, credits ?? null, note, atMs],
    },
    {
      sql: `select lot_id, credits, wanted,
          (select credits from take_backs where id = ?1 || '_bonus') as bonus
        from take_backs where id = ?1`,
      args: [id],
    },
    ...also,
  ]);
  const [row] = after!;
  return row === undefined ? undefined : {
    lotId: String(row.lot_id),
    credits: Number(row.credits),
    wanted: row.wanted === null ? undefined : Number(row.wanted),
    bonusCredits: Number(row.bonus ?? 0),
    isRepeated: before!.length > 0,
  };
}

/** How much of an account's lot could be taken back; undefined if it has no such lot. */
export async function takeableOf(
  database: Database,
  { accountId, lotId }: { readonly accountId: string; readonly lotId: string },
): Promise<Takeable | undefined> {
  const row = await database.one(
    `select remaining, balance - held + coalesce((
        select sum(credits) from loans where account_id = lots.account_id
      ), 0) as free
      from lots join balances on balances.account_id = lots.account_id
      where lots.id = ? and lots.account_id = ?`,
    [lotId, accountId],
  );
  return row && { remaining: Number(row.remaining), free: Number(row.free) };
}

/** Holds for a take-back that has taken something. */
export function isTakenBack(id: string): Condition {
  return { sql: "exists (select 1 from take_backs where id = ?)", args: [id] };
}
