/**
 * The rules of the ledger: what may happen to credits, decided by the database itself (P7).
 *
 * Each file is one rule: a doc comment that states it, what it decides on (an {@linkcode Intake}), the
 * triggers and views that decide, and what a decision locks (`sql/locks.ts`). One row after the other is decided, whatever gateway's batch it came in, so
 * that a file and a server, one gateway and ten, keep the same rules. `tests/money/ledger/model.ts` states the same
 * rules as plain code.
 *
 * Rules know nothing of batches: `../feed.ts` inserts a batch into an intake, and what reads the outcomes
 * (`../admit.ts`, `../settle.ts`, …) knows only names of columns.
 *
 * They are installed when a database is opened (`database/rules.ts`), whole, when their hash is not the one that
 * the database has. A database whose rules have a higher revision keeps them, and the older program works with
 * them. Therefore a rule decides on nothing but the row that it is given and the tables, and a change that an
 * older program cannot work with comes with a migration.
 *
 * @module
 */

import type { RuleSet } from "../../../ground/database/mod.ts";
import { SETTLE as SETTLEMENT } from "../settle.ts";
import { ADD_UP } from "./add_up.ts";
import { ADJUST_ORDER } from "./adjust_order.ts";
import { ADMIT } from "./admit.ts";
import { ADMIT_SET } from "./admit_set.ts";
import { APPEND_ONLY } from "./append_only.ts";
import { APPLY_BUDGETS } from "./apply_budgets.ts";
import { BIND } from "./bind.ts";
import { BOUND_UNPRICED } from "./bound_unpriced.ts";
import { COUNT_PRUNED } from "./count_pruned.ts";
import { EXPIRE } from "./expire.ts";
import { GROW } from "./grow.ts";
import { HOLD } from "./hold.ts";
import { KEEP_ORDERS } from "./keep_orders.ts";
import { LEND } from "./lend.ts";
import { LOAN } from "./loan.ts";
import { KEEP_GRANTS } from "./keep_grants.ts";
import { KEEP_LOG } from "./keep_log.ts";
import { MARK_KEY_USE } from "./mark_key_use.ts";
import { MOVE_CREDITS } from "./move_credits.ts";
import { OPEN_BALANCES } from "./open_balances.ts";
import { OPEN_PERIOD } from "./open_period.ts";
import { PAY_ORDER } from "./pay_order.ts";
import { RETURN_LOAN } from "./return_loan.ts";
import { REVISE_KEYS } from "./revise_keys.ts";
import { SETTLE } from "./settle.ts";
import { SETTLE_SET } from "./settle_set.ts";
import { TAKE_BACK } from "./take_back.ts";
import { WRITE_OFF_LOAN } from "./write_off_loan.ts";

/** All rules. `tests/money/ledger/rules_test.ts` holds the hash of each revision. */
export const RULES: RuleSet = {
  revision: 26,
  behind: [SETTLEMENT],
  rules: [
    REVISE_KEYS,
    OPEN_BALANCES,
    OPEN_PERIOD,
    APPLY_BUDGETS,
    KEEP_GRANTS,
    KEEP_LOG,
    MOVE_CREDITS,
    APPEND_ONLY,
    BIND,
    HOLD,
    LOAN,
    EXPIRE,
    ADMIT,
    ADMIT_SET,
    LEND,
    RETURN_LOAN,
    WRITE_OFF_LOAN,
    GROW,
    SETTLE,
    SETTLE_SET,
    ADD_UP,
    MARK_KEY_USE,
    BOUND_UNPRICED,
    COUNT_PRUNED,
    TAKE_BACK,
    KEEP_ORDERS,
    ADJUST_ORDER,
    PAY_ORDER,
  ],
};
