/** What decisions need to themselves, as data beside their statements. */

import type { Lock } from "../../../../ground/database/mod.ts";

/** The account of what is decided on. */
export const OF_ACCOUNT = "select new.account_id";

/** The budgets that apply to the key of what is decided on. */
export const OF_KEY = "select budget_id from budget_keys where key_id = new.key_id";

/**
 * The rows that a decision locks, in the order in which every decision does: what says which accounts those are, then accounts, then
 * what several of them share.
 *
 * @param payments Whether it reads or writes what is of all payments: a refund may be known before its payment is one of an order, and
 * receipts have numbers without a gap. The row of the revision of keys stands for that, as it is always there.
 * @param accounts A query of accounts, of which anything may change: balance, lots, holds, loans, records, orders.
 * @param budgets A query of budgets, of which periods may change.
 */
export function locks(
  { payments = false, accounts, budgets }: {
    readonly payments?: boolean;
    readonly accounts?: string;
    readonly budgets?: string;
  },
): Lock[] {
  return [
    ...(payments ? [{ table: "revisions", key: "noun", rows: "select 'keys'" }] : []),
    ...(accounts === undefined ? [] : [{ table: "balances", key: "account_id", rows: accounts }]),
    ...(budgets === undefined ? [] : [{ table: "budgets", key: "id", rows: budgets }]),
  ];
}
