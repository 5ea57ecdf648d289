import { CLOCK_MS, type Database, type Row, sumOf } from "../../ground/database/mod.ts";
import { delay } from "../../ground/std/mod.ts";
import { type AccountStatus, readStatus, statusStatement } from "./account_status.ts";
import { countsIn } from "./rules/sql/budgets.ts";
import { HAS_LAPSED } from "./rules/sql/shared.ts";
import { type Span, SPANS } from "./rules/sql/windows.ts";
import { changeLocked } from "./change_locked.ts";
import { decide } from "./feed.ts";
import { LOAN_REQUESTS } from "./rules/lend.ts";
import { LOAN_RETURNS } from "./rules/return_loan.ts";
import type { TierList } from "./tiers.ts";
import { wholeCredits } from "./whole_credits.ts";
import { jsonArrayOfRows, jsonObject, jsonObjectOfRows, textsOf } from "../../ground/sql/mod.ts";

/** Requests that may be admitted in any one minute, hour and day. */
export type Places = Readonly<Record<Span, number>>;

/** A gateway that wants to admit requests of an account itself. */
export interface LoanRequest {
  readonly accountId: string;
  /** The key whose requests there are. */
  readonly keyId: string;
  readonly gatewayId: string;
  readonly loanId: string;
  /** Whether the gateway has no loan yet. */
  readonly isNew: boolean;
  readonly nowMs: number;
  readonly leaseMs: number;
  readonly tierList: TierList;
  /** Whether it is for the key alone, and counts in its budgets. Default: for all keys without budgets. */
  readonly byKey?: boolean;
  /** Less than this is not worth a loan. */
  readonly leastCredits: number;
  readonly leastPlaces: number;
}

/** Credits of an account, and places in its rate windows, that are lent to a gateway. */
export interface Loan {
  /** Credits by which it has grown now; at first all of it. */
  readonly added: number;
  readonly places: Places;
  /** What is lent to other gateways. */
  readonly otherPlaces: Places;
  /** Balance and rate windows of account and key, as the database knows them. */
  readonly accountStatus: AccountStatus;
  /** Until when it may be spent: until a lot expires or, of a loan of one key, a period of its budgets ends. `Infinity` for neither. */
  readonly expiresAtMs: number;
}

/**
 * Returns when the last lease of gateways ends, by the database's clock: they renew it for as long as they run and have credits.
 *
 * @param patienceMs By how much the leases of loans are longer, as they may be spent without the database.
 * @returns Milliseconds since the epoch; 0 without a lease.
 */
export async function leaseUntilMs(
  database: Database,
  gatewayIds: readonly string[],
  patienceMs: number,
): Promise<number> {
  const row = await database.one(LEASE_UNTIL, [patienceMs, JSON.stringify(gatewayIds)]);
  return Number(row?.until_ms ?? 0);
}

/** A request that was admitted from a loan and is not known to be settled. */
export interface LentRequest {
  readonly requestId: string;
  readonly keyId: string;
  readonly credits: number;
  readonly admittedAtMs: number;
}

/** Interval at which it is looked whether loans have been returned. */
const RETURNED_MS = 25;
/** How long gateways have to return what was recalled. */
const PATIENCE_MS = 2_000;

const SPAN_NAMES = Object.keys(SPANS) as Span[];

/** Loans of an account, and of keys that share a budget with a key. */
const OF_ACCOUNT_AND_KEY = `(account_id = ?1 or key_id in (
    select sharing.key_id from budget_keys join budget_keys as sharing
      on sharing.budget_id = budget_keys.budget_id
    where budget_keys.key_id = ?2
  ))`;
const CREDITS = "select credits from loans where account_id = ? and loan_id = ?";
/** Whether a budget applies to the key: no request of it is admitted from its account's loan. */
const HAS_BUDGET = "select 1 as found from budget_keys where key_id = ? limit 1";
const OTHERS = `select ${
  SPAN_NAMES.map((span) => `coalesce(${sumOf(span)}, 0) as ${span}`).join(", ")
} from loans where account_id = ? and loan_id <> ?`;
const LOAN = `select credits, ${SPAN_NAMES.join(", ")}, (
    select min(expires_at_ms) from lots where account_id = loans.account_id and remaining > 0
  ) as expires_at_ms, (
    select min(ends_at_ms) from budget_periods where ${countsIn("loans.key_id", "loans.lent_at_ms")}
  ) as until_ms
  from loans where account_id = ? and loan_id = ?`;

const LEASE_UNTIL = `select max(lease_until_ms) as until_ms from (
    select gateway_id, lease_until_ms - ? as lease_until_ms from loans union all select gateway_id, lease_until_ms from holds
  ) as found where gateway_id in ${textsOf()}`;

/**
 * Lends credits and places to a gateway, or renews its loan and adds to it.
 *
 * @returns The loan; undefined if there is not enough to lend, if the loan has ended, or if the key has a budget and
 *   the loan is not of it.
 */
export async function lend(database: Database, ask: LoanRequest): Promise<Loan | undefined> {
  const { accountId, keyId, gatewayId, nowMs, tierList } = ask;
  const loan = [accountId, ask.loanId];
  const [[before], , [row], [others], [status], [budget]] = await database.batch([
    { sql: CREDITS, args: loan },
    decide(LOAN_REQUESTS, {
      account_id: accountId,
      key_id: keyId,
      gateway_id: gatewayId,
      loan_id: ask.loanId,
      is_new: ask.isNew ? 1 : 0,
      at_ms: nowMs,
      lease_ms: ask.leaseMs,
      tier_list: tierList.id,
      least_credits: ask.leastCredits,
      least_places: ask.leastPlaces,
      by_key: ask.byKey ? 1 : 0,
    }),
    { sql: LOAN, args: loan },
    { sql: OTHERS, args: loan },
    statusStatement(ask, tierList, nowMs),
    { sql: HAS_BUDGET, args: [keyId] },
  ], { beside: true }) as [Row[], Row[], Row[], Row[], Row[], Row[]];
  if (row === undefined || budget !== undefined && !ask.byKey) return undefined;
  return {
    added: wholeCredits(row.credits, "a loan") - wholeCredits(before?.credits ?? 0, "a loan"),
    places: placesOf(row),
    otherPlaces: placesOf(others!),
    accountStatus: readStatus(status),
    expiresAtMs: Math.min(Number(row.expires_at_ms ?? Infinity), Number(row.until_ms ?? Infinity)),
  };
}

function placesOf({ minute, hour, day }: Row): Places {
  return { minute: Number(minute), hour: Number(hour), day: Number(day) };
}

/**
 * Returns a loan. Requests that were admitted from it hold their credits themselves from then on. Returning it again
 * changes nothing.
 *
 * @param returned The loan, and its requests that are not known to be settled.
 */
export async function returnLoan(
  database: Database,
  { accountId, gatewayId, loanId, leaseMs, requests }: {
    readonly accountId: string;
    readonly gatewayId: string;
    readonly loanId: string;
    readonly leaseMs: number;
    readonly requests: readonly LentRequest[];
  },
): Promise<void> {
  const list = requests.map(({ requestId, keyId, credits, admittedAtMs }) => ({
    request_id: requestId,
    key_id: keyId,
    credits,
    admitted_at_ms: admittedAtMs,
  }));
  await database.batch([
    decide(LOAN_RETURNS, {
      account_id: accountId,
      gateway_id: gatewayId,
      loan_id: loanId,
      lease_ms: leaseMs,
      requests: JSON.stringify(list),
    }),
  ], { beside: true });
}

/** A loan as the database has it. */
export interface LoanOf {
  readonly accountId: string;
  readonly loanId: string;
}

/**
 * Renews the loans of a gateway, but those whose lease has ended: others may have been given their places, so it has to return them.
 *
 * @returns The loans that it has, and whether each was renewed.
 */
export async function renewLoans(
  database: Database,
  gatewayId: string,
  leaseMs: number,
): Promise<(LoanOf & { readonly isRenewed: boolean })[]> {
  const own = { sql: `gateway_id = ? and not ${HAS_LAPSED}`, args: [gatewayId] };
  const renew = `update loans set lease_until_ms = ${CLOCK_MS} + ?`;
  await changeLocked(database, "loans", own, renew, [leaseMs]);
  const rows = await database.all(
    `select account_id, loan_id, not ${HAS_LAPSED} as renewed from loans where gateway_id = ?`,
    [gatewayId],
  );
  return rows.map((row) => ({
    accountId: String(row.account_id),
    loanId: String(row.loan_id),
    isRenewed: Number(row.renewed) === 1,
  }));
}

/** Ends what was lent to a gateway when it was last running, once the database has what it had kept. */
export async function releaseLoansOf(database: Database, gatewayId: string): Promise<void> {
  const own = { sql: "gateway_id = ?", args: [gatewayId] };
  await changeLocked(database, "loans", own, "delete from loans");
}

/**
 * Asks gateways to return what is lent of an account.
 *
 * @param keyId A key whose budgets are short as well: also what was lent of them to other keys. Default: none.
 * @returns Whether anything is lent.
 */
export async function recallLoans(
  database: Database,
  accountId: string,
  keyId = "",
): Promise<boolean> {
  const these = { sql: OF_ACCOUNT_AND_KEY, args: [accountId, keyId] };
  return await changeLocked(database, "loans", these, "update loans set recalled = 1");
}

/**
 * Waits until the loans that are recalled now have been returned, or nobody is likely to return them.
 *
 * @param accountId Whose loans. Default: everybody's.
 * @param patienceMs How long gateways have.
 */
export async function awaitReturns(
  database: Database,
  { accountId, patienceMs = PATIENCE_MS }: {
    readonly accountId?: string;
    readonly patienceMs?: number | undefined;
  },
): Promise<void> {
  const untilTick = performance.now() + patienceMs;
  const of = accountId === undefined ? "" : "account_id = ? and ";
  const args = accountId === undefined ? [] : [accountId];
  const recalled = async () => {
    const rows = await database.all(
      `select loan_id from loans where ${of}recalled = 1 and not ${HAS_LAPSED}`,
      args,
    );
    return new Set(rows.map((row) => row.loan_id));
  };
  let open = await recalled();
  while (open.size > 0 && performance.now() < untilTick) {
    await delay(RETURNED_MS);
    open = open.intersection(await recalled());
  }
}

/** What a gateway looks for now and then. */
export interface LoanNews {
  /** Loans that it is to return. */
  readonly recalled: readonly LoanOf[];
  /** By account. */
  readonly balances: Readonly<Record<string, number>>;
}

/**
 * Looks for loans that a gateway is to return, and reads balances of accounts that it charges.
 *
 * @param accountIds Whose balances.
 */
export async function loanNews(
  database: Database,
  gatewayId: string,
  accountIds: readonly string[],
): Promise<LoanNews> {
  const row = await database.one(
    `select ${
      jsonObject({
        recalled: `(
          select ${jsonArrayOfRows(jsonObject("account_id as accountId, loan_id as loanId"))}
          from loans where gateway_id = ? and recalled = 1
        )`,
        balances: `(
          select ${jsonObjectOfRows("account_id", "balance")}
          from balances where account_id in ${textsOf()}
        )`,
      })
    } as news`,
    [gatewayId, JSON.stringify(accountIds)],
  );
  return JSON.parse(String(row!.news));
}

/**
 * Whether a loan of an account has been recalled, not been returned, and is worth waiting for.
 *
 * @param keyId A key whose budgets count as well. Default: none.
 */
export async function isRecalled(
  database: Database,
  accountId: string,
  keyId = "",
): Promise<boolean> {
  const row = await database.one(
    `select 1 as found from loans
      where ${OF_ACCOUNT_AND_KEY} and recalled = 1 and not ${HAS_LAPSED} limit 1`,
    [accountId, keyId],
  );
  return row !== undefined;
}
