/**
 * Tables of this folder, and the views that take what its rules decide on: only its SQL reads and writes them
 * (`tests/tables_test.ts`).
 */
export const TABLES = [
  /** An account's sums. */
  "balances",
  "budgets",
  /** Which budgets apply to a key. */
  "budget_keys",
  /** What was spent of a budget, and is held, in each of its periods. */
  "budget_periods",
  "period_openings",
  "lots",
  /** Each lot as it was granted. */
  "grants",
  "entries",
  "take_backs",
  "holds",
  /** What holds reserve of lots that are bound to models. */
  "bound_holds",
  /** Credits and places in rate windows that gateways admit requests on. */
  "loans",
  /** Those of gateways that are gone, which an operator has written off. */
  "loan_write_offs",
  /** Requests of a key, and of an account, in each minute, hour and day. */
  "windows",
  "account_windows",
  /** One row: before when windows were pruned. */
  "pruned_windows",
  "tiers",
  /** Admissions of a transaction, until it ends. */
  "decisions",
  /** Settlements of a transaction, until it ends. */
  "settling",
  "expiries",
  "admissions",
  "admission_sets",
  "growths",
  "settlements",
  "settlement_sets",
  "loan_requests",
  "loan_returns",
  "take_back_requests",
] as const;
