/**
 * What operators do: every write of the API, the console and the commands is one definition here, and one executor carries
 * all of them out.
 *
 * Promise: nobody writes what the table of permissions does not allow at that moment; what was changed is in the log, in the
 * same transaction; a write with an `Idempotency-Key` takes effect once, whatever is repeated or crashes. Leaves to others: what
 * keys, teams, budgets and credits are (`accounts/`, `ledger/`, `billing/`), and how requests arrive (`http/`, `console/`, `cli/`).
 *
 * @module
 */

import { ACCOUNT_OPERATIONS } from "./account_operations.ts";
import { BUDGET_OPERATIONS } from "./budget_operations.ts";
import { CODE_OPERATIONS } from "./code_operations.ts";
import { CREDIT_OPERATIONS } from "./credit_operations.ts";
import { GATEWAY_OPERATIONS } from "./gateway_operations.ts";
import { KEY_OPERATIONS } from "./key_operations.ts";
import { ORDER_OPERATIONS } from "./order_operations.ts";
import type { Operation } from "./operation.ts";
import { REPORT_OPERATIONS } from "./report_operations.ts";
import { TEAM_OPERATIONS } from "./team_operations.ts";
import { UPSTREAM_KEY_OPERATIONS } from "./upstream_key_operations.ts";

/** All operations. */
export const OPERATIONS: readonly Operation[] = [
  ...ACCOUNT_OPERATIONS,
  ...TEAM_OPERATIONS,
  ...KEY_OPERATIONS,
  ...UPSTREAM_KEY_OPERATIONS,
  ...BUDGET_OPERATIONS,
  ...CREDIT_OPERATIONS,
  ...ORDER_OPERATIONS,
  ...CODE_OPERATIONS,
  ...REPORT_OPERATIONS,
  ...GATEWAY_OPERATIONS,
];

export * from "./account_operations.ts";
export * from "./budget_operations.ts";
export {
  CODE_CREATE,
  CODE_LIST,
  CODE_REDEEM,
  CODE_REVOKE,
  CODES,
  madeCodesShape,
} from "./code_operations.ts";
export * from "./credit_operations.ts";
export * from "./gateway_operations.ts";
export * from "./key_operations.ts";
export * from "./order_operations.ts";
export * from "./report_operations.ts";
export * from "./team_operations.ts";
export * from "./top_up_operations.ts";
export * from "./upstream_key_operations.ts";
export type { Json, Operation, ReadOperation, ReplyOf, WriteOperation } from "./operation.ts";
export type { Nouns, OperationParts, SettingsFileParts } from "./parts.ts";
export { errorBody, perform, performOnce, performRead } from "./perform.ts";
export {
  checkIsNew,
  type EntryPath,
  type EntryPreview,
  previewEntry,
  ROUTE_WRITE,
  UPSTREAM_ADD,
  writtenEntry,
} from "./settings_entries.ts";
export { isoOf, subjectOfKey, subjectOfNewKey, subjectsOfKeys } from "./lookup.ts";
export { denialOf, mayOperate, rightOf, type Subject } from "./rights.ts";
export { budgetShape } from "./shapes/budget.ts";
export { describeKey } from "./shapes/key.ts";
export { ownerOf as describeOwner } from "./shapes/order.ts";
