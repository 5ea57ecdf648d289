/**
 * Loans whose lease has ended without their return: their gateways are gone, or cannot reach the database. What they sold may still
 * be in their outboxes, so time alone frees none of it.
 *
 * @module
 */

import * as z from "zod";
import { CLOCK_MS, type Database, sumOf } from "../../ground/database/mod.ts";
import { jsonText, rowOf } from "../../ground/row.ts";
import { changeLocked } from "./change_locked.ts";
import { HAS_LAPSED } from "./rules/sql/shared.ts";
import { SPANS } from "./rules/sql/windows.ts";
import { iif, jsonArrayOfRows, textsOf } from "../../ground/sql/mod.ts";

/** By how much clocks of gateways, and the database's, may go wrong in between. */
const CLOCKS_MS = 60_000;

/** A loan that has lapsed, and the gateway that has it. */
export interface LapsedLoan {
  readonly gatewayId: string;
  readonly loanId: string;
}

/** Whether no request that was admitted in time can be in a window of a span that has not ended. */
const isOver = (spanMs: number) => `lease_until_ms + ${spanMs + CLOCKS_MS} < ${CLOCK_MS}`;

/** Places that a lapsed loan has in windows which are over: nobody is admitted to those, and what was counts when it is known. */
const FREE_PLACES = `update loans set ${
  Object.entries(SPANS).map(([span, ms]) => `${span} = ${iif(isOver(ms), "0", span)}`).join(", ")
}`;
const HAS_OLD_PLACES = `${HAS_LAPSED} and (${
  Object.entries(SPANS).map(([span, ms]) => `${span} > 0 and ${isOver(ms)}`).join(" or ")
})`;

/**
 * Finds the loans that may not be spent any more and were not returned. Their places in rate windows are given back as those windows
 * end; their credits stay held.
 */
export async function lapsedLoans(database: Database): Promise<LapsedLoan[]> {
  await changeLocked(database, "loans", { sql: HAS_OLD_PLACES, args: [] }, FREE_PLACES);
  const rows = await database.all(`select gateway_id, loan_id from loans where ${HAS_LAPSED}`);
  return rows.map(({ gateway_id, loan_id }) => ({
    gatewayId: String(gateway_id),
    loanId: String(loan_id),
  }));
}

/** Ends lapsed loans whose gateways have ended, and whose settlements the database has. */
export async function releaseLapsedLoans(
  database: Database,
  loans: readonly LapsedLoan[],
): Promise<void> {
  const these = {
    sql: `${HAS_LAPSED} and loan_id in ${textsOf()}`,
    args: [JSON.stringify(loans.map(({ loanId }) => loanId))],
  };
  await changeLocked(database, "loans", these, "delete from loans");
}

const lentRow = rowOf({
  gateway_id: z.string(),
  /** Accounts of which it was lent something. */
  accounts: z.int(),
  credits: z.int().nonnegative(),
  /** Until when the last of it may be spent, by the database's clock. */
  lease_until_ms: z.int(),
  /** Credits that it may not spend any more, and has not returned. */
  lapsed_credits: z.int().nonnegative(),
  /** Accounts whose credits these are. */
  lapsed_accounts: z.int(),
  /** IDs of the keys in whose budgets these count. */
  lapsed_keys: jsonText(z.array(z.string())),
});

/** What a gateway is lent. */
export type LentToGateway = z.output<typeof lentRow>;

/** What each gateway is lent, those first that are gone for longest. */
export async function lentToGateways(
  database: Database,
  gatewayId?: string,
): Promise<LentToGateway[]> {
  const rows = await database.all(
    `select gateway_id, count(distinct account_id) as accounts, ${sumOf("credits")} as credits,
        max(lease_until_ms) as lease_until_ms,
        coalesce(${sumOf("credits")} filter (where ${HAS_LAPSED}), 0) as lapsed_credits,
        count(distinct account_id) filter (where ${HAS_LAPSED}) as lapsed_accounts,
        ${jsonArrayOfRows("distinct key_id", `${HAS_LAPSED} and key_id <> ''`)} as lapsed_keys
      from loans ${gatewayId === undefined ? "" : "where gateway_id = ?"}
      group by gateway_id order by max(lease_until_ms), gateway_id`,
    gatewayId === undefined ? [] : [gatewayId],
  );
  return rows.map((row) => lentRow.parse(row));
}

const writeOffRow = rowOf({
  gateway_id: z.string(),
  /** Accounts whose credits were lent. */
  accounts: z.int(),
  /** What is free again. */
  credits: z.int().nonnegative(),
  note: z.string(),
  at_ms: z.int(),
});

/** Loans of a gateway that were written off together. */
export type LoanWriteOff = z.output<typeof writeOffRow>;

/**
 * Ends the lapsed loans of a gateway whose outbox is not waited for any more: their credits are free again. Loans that it may still
 * spend stay.
 *
 * @param id Of the write-off.
 * @param note Why.
 */
export async function writeOffLoans(
  database: Database,
  { id, gatewayId, note, atMs }: {
    readonly id: string;
    readonly gatewayId: string;
    readonly note: string;
    readonly atMs: number;
  },
): Promise<void> {
  const these = { sql: `gateway_id = ? and ${HAS_LAPSED}`, args: [gatewayId] };
  const writeOff = `insert into loan_write_offs
      (loan_id, write_off_id, account_id, gateway_id, credits, lease_until_ms, note, at_ms)
    select loan_id, ?, account_id, gateway_id, credits, lease_until_ms, ?, cast(? as bigint)
    from loans`;
  await changeLocked(database, "loans", these, writeOff, [id, note, atMs]);
}

/** Loans that were written off together; undefined if none were. */
export async function loanWriteOff(
  database: Database,
  id: string,
): Promise<LoanWriteOff | undefined> {
  const row = await database.one(
    `select gateway_id, count(distinct account_id) as accounts, ${
      sumOf("credits")
    } as credits, note, at_ms
      from loan_write_offs where write_off_id = ? group by gateway_id, note, at_ms`,
    [id],
  );
  return row && writeOffRow.parse(row);
}
