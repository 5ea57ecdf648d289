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

import * as account from "./account_operations.ts";
import * as budget from "./budget_operations.ts";
import * as code from "./code_operations.ts";
import * as credit from "./credit_operations.ts";
import * as gateway from "./gateway_operations.ts";
import * as key from "./key_operations.ts";
import * as loan from "./loan_operations.ts";
import * as order from "./order_operations.ts";
import type { Operation } from "./operation.ts";
import * as report from "./report_operations.ts";
import * as team from "./team_operations.ts";
import * as upstreamKey from "./upstream_key_operations.ts";

/** The operations of the API: all that are defined in these files. */
export const OPERATIONS: readonly Operation[] = [
  account,
  team,
  key,
  upstreamKey,
  budget,
  credit,
  loan,
  order,
  code,
  report,
  gateway,
].flatMap((file) => Object.values<unknown>(file).filter(isOperation));

function isOperation(one: unknown): one is Operation {
  return typeof one === "object" && one !== null && "scopes" in one;
}

export * from "./account_operations.ts";
export * from "./budget_operations.ts";
export * from "./code_operations.ts";
export * from "./credit_operations.ts";
export * from "./gateway_operations.ts";
export * from "./key_operations.ts";
export * from "./loan_operations.ts";
export * from "./order_operations.ts";
export * from "./own_operations.ts";
export * from "./report_operations.ts";
export * from "./team_operations.ts";
export * from "./upstream_key_operations.ts";
export type { Json, Operation, ReadOperation, ReplyOf, WriteOperation } from "./operation.ts";
export type { GatewayParts, Nouns, OperationParts, SettingsFileParts } from "./parts.ts";
export { errorBody, perform, performCsv, performOnce, performRead } from "./perform.ts";
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
export { budgetShape, describeBudget } from "./shapes/budget.ts";
export { describeKey } from "./shapes/key.ts";
export { ownerOf as describeOwner } from "./shapes/order.ts";
