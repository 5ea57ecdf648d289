import type { Condition, Database, Row, Statement } from "../../ground/database/mod.ts";
import { decide } from "./feed.ts";
import { awaitReturns, recallLoans } from "./loans.ts";
import { TAKE_BACK_REQUESTS } from "./rules/take_back.ts";
import { wholeCredits } from "./whole_credits.ts";

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
  /** Statements to run first in the same transaction: they fail if nothing may be taken any more. */
  readonly guards?: readonly Statement[] | undefined;
  /** Statements to run in the same transaction; they may run before as well, and must do nothing unless {@linkcode isTakenBack}. */
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

/** How long gateways have to return what they were lent. */
const PATIENCE_MS = 2_000;

/**
 * Takes back what is left of a lot, or as much of it as was asked for. What in-flight requests hold is left
 * alone; what is lent to gateways is recalled first, again if more was lent meanwhile: gateways that do not return it keep it once
 * their time is over. The purchase that was an account's first payment, taken back whole, takes its bonus with it.
 *
 * @returns undefined if nothing could be taken.
 */
export async function takeBack(
  database: Database,
  request: TakeBackRequest,
): Promise<TakeBack | undefined> {
  const { accountId, patienceMs = PATIENCE_MS } = request;
  const untilTick = performance.now() + patienceMs;
  while (true) {
    const leftMs = Math.max(0, untilTick - performance.now());
    await recallLoans(database, accountId);
    await awaitReturns(database, { accountId, patienceMs: leftMs });
    const isLast = performance.now() >= untilTick;
    const { isDecided, taken } = await takeOnce(database, request, isLast);
    if (isDecided) return taken;
  }
}

/**
 * One transaction: takes the credits, unless something is lent that was not recalled.
 *
 * @param isLast Whether it takes what it can in any case.
 */
async function takeOnce(
  database: Database,
  { id, accountId, lotId, credits, note, atMs, guards = [], also = [] }: TakeBackRequest,
  isLast: boolean,
): Promise<{ readonly isDecided: boolean; readonly taken?: TakeBack | undefined }> {
  const isFree: Condition = isLast ? { sql: "1 = 1", args: [] } : {
    sql: `(not exists (select 1 from loans where account_id = ? and recalled = 0)
          or exists (select 1 from take_backs where id = ?))`,
    args: [accountId, id],
  };
  const rows = await database.batch([
    ...guards,
    { sql: "select 1 from take_backs where id = ?", args: [id] },
    { sql: `select ${isFree.sql} as is_free`, args: isFree.args },
    decide(TAKE_BACK_REQUESTS, {
      id,
      account_id: accountId,
      lot_id: lotId,
      wanted: credits,
      note,
      at_ms: atMs,
    }, isFree),
    {
      sql: `select lot_id, credits, wanted,
          (select credits from take_backs where id = ?1 || '_bonus') as bonus
        from take_backs where id = ?1`,
      args: [id],
    },
    ...also,
  ]);
  const [before, [state], , after] = rows.slice(guards.length) as [Row[], Row[], Row[], Row[]];
  if (Number(state?.is_free) === 0) return { isDecided: false };
  const [row] = after;
  return {
    isDecided: true,
    taken: row && {
      lotId: String(row.lot_id),
      credits: wholeCredits(row.credits, "credits taken back"),
      wanted: row.wanted === null ? undefined : Number(row.wanted),
      bonusCredits: Number(row.bonus ?? 0),
      isRepeated: before.length > 0,
    },
  };
}

/** The credits that are left of an account's lot; undefined if it has no such lot. */
export async function takeableOf(
  database: Database,
  { accountId, lotId }: { readonly accountId: string; readonly lotId: string },
): Promise<number | undefined> {
  const row = await database.one(
    "select remaining from lots where id = ? and account_id = ?",
    [lotId, accountId],
  );
  return row && Number(row.remaining);
}

/** Holds for a take-back that has taken something. */
export function isTakenBack(id: string): Condition {
  return { sql: "exists (select 1 from take_backs where id = ?)", args: [id] };
}
