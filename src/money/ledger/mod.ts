/**
 * Credits: lots, entries, holds, settlement, audit.
 *
 * Promise: balance = sum of entries = sum of what the lots have left (P1); what is held is never more than
 * the balance (P4); a request is settled once (P2); no sequence of concurrent requests spends more than there
 * is (P3). The database itself decides, by the rules of `rules/`, so that one gateway and ten keep them
 * alike (P7). Leaves to others: what a request costs (`catalog/`), the errors of callers (`admission/`).
 *
 * The tables, and what moves their figures:
 *
 * ```text
 *   grants ─made with─ lots ◀──remaining── entries ──balance──▶ balances ◀──held── holds   requests in flight
 *                                             ▲                  │   ▲
 *   usage_records (usage/) ──one charge each──┘                  │   ├──held────── loans   lent to gateways
 *                                                                │   └─written_off─ loan_write_offs
 *        └─▶ hours, days, tags (usage/)                          ▼
 *                                                   tiers: rate limits by balance ─▶ windows, account_windows
 *   budgets ─apply to─ budget_keys        budget_periods ◀──spent── records, ◀──held── holds
 * ```
 *
 * What is to be decided is put into a view, whose rule writes the tables: `admissions` (the verdicts are in `decisions` until the
 * transaction ends), `growths`, `settling` with `settlement_sets`, `settlements`, `loan_requests`, `loan_returns`,
 * `take_back_requests`, `expiries` and `period_openings`.
 *
 * @module
 */

export { admit, type Decision, type HoldRequest, type Span, type WindowState } from "./admit.ts";
export {
  type Budget,
  BUDGET_OWNERS,
  budgetId,
  type BudgetName,
  budgetOf,
  type BudgetOwner,
  budgetsOf,
  budgetsOfAccounts,
  budgetsOfKeys,
  budgetsOfMembers,
  budgetsOn,
  keyBudgetsReading,
} from "./budgets.ts";
export { openPeriods, openPeriodsOfKey } from "./open_periods.ts";
export {
  budgetStatements,
  type BudgetTerms,
  raiseBudget,
  removeBudget,
  removeStatements,
  setBudget,
} from "./set_budget.ts";
export {
  BUDGET_PERIODS,
  type BudgetPeriod,
  instantAt,
  isTimeZone,
  localMinute,
  localTime,
  periodAt,
} from "./periods.ts";
export { audit, type AuditReport, type Mismatch, type Noun } from "./audit.ts";
export {
  balancesOf,
  balancesReading,
  type Credits,
  creditsOf,
  creditsReading,
  expireLots,
  expireLotsOf,
  hasLessThan,
  heldByKeyReading,
  type Lot,
  type Pulse,
} from "./credits.ts";
export {
  balanceReading,
  type DaySum,
  entriesButChargesReading,
  sumsButChargesReading,
} from "./entries_but_charges.ts";
export { entriesBetween, entriesOf, entriesOfCause, type Entry } from "./entries.ts";
export {
  grantStatements,
  idOfReference,
  isNotGranted,
  keptGrants,
  lotStatement,
  newLotId,
} from "./grants.ts";
export {
  awaitReturns,
  isRecalled,
  leaseUntilMs,
  lend,
  type LentRequest,
  type Loan,
  loanNews,
  type LoanOf,
  type Places,
  recallLoans,
  releaseLoansOf,
  renewLoans,
  returnLoan,
} from "./loans.ts";
export {
  lapsedLoans,
  type LentToGateway,
  lentToGateways,
  type LoanWriteOff,
  loanWriteOff,
  releaseLapsedLoans,
  writeOffLoans,
} from "./lapsed_loans.ts";
export { growHold, reapHolds, releaseHoldsOf, renewHolds } from "./holds.ts";
export {
  type AttemptRecord,
  type Ending,
  type FailureRecord,
  KEY_OWNERS,
  type KeyOwner,
  type LentCredits,
  settle,
  type Settled,
  type UsageRecord,
} from "./settle.ts";
export { type AccountStatus, accountStatusOf } from "./account_status.ts";
export { lockDay, ROLL_UPS, SUMS } from "./roll_ups.ts";
export { decide } from "./feed.ts";
export { ORDER_COLLECTIONS, PAYMENT_CHANGES } from "./rules/adjust_order.ts";
export { RULES } from "./rules/mod.ts";
export { ORDER_PAYMENTS } from "./rules/pay_order.ts";
export { isTakenBack, takeableOf, type TakeBack, takeBack } from "./take_backs.ts";
export { type BalanceRange, type Tier, TierList } from "./tiers.ts";
export {
  budgetUses,
  type ExpiringLot,
  expiringLots,
  type LowBalance,
  lowBalances,
} from "./marks.ts";
export { pruneWindows, SETTLED_REQUESTS } from "./windows.ts";
