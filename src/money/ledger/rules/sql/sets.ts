/** Sets of items that PostgreSQL decides on together, in the variable `all_given` of a block: a JSON array of arrays of their columns. */

import {
  columnsOf,
  either,
  integerAt,
  lockRowsInBlock,
  textAt,
} from "../../../../ground/database/mod.ts";
import type { Intake } from "../intake.ts";
import { locks } from "./locks.ts";

/** The items, in their order. */
export const ITEMS = "jsonb_array_elements(all_given) with ordinality as items (item, place)";

/** The value of one column. */
export function valueOf(intake: Intake, column: string, item = "item"): string {
  const at = columnsOf(intake).indexOf(column);
  return intake.columns[column] === "integer" ? integerAt(item, at) : textAt(item, at);
}

/** The values of an item, for a `select`, by the columns of an intake. */
export function valuesOf(intake: Intake, item = "item"): string {
  return columnsOf(intake).map((column) => `${valueOf(intake, column, item)} as ${column}`)
    .join(", ");
}

/** A condition: a table has a row. PostgreSQL would read the whole table for `exists`, as long as that is small. */
export function has(table: string, condition: string): string {
  return either({
    sqlite: `exists (select 1 from ${table} where ${condition})`,
    postgres: `(select 1 from ${table} where ${condition} limit 1) is not null`,
  });
}

/** Budgets of keys. */
export function budgetsOf(keys: string): string {
  return `select budget_id from budget_keys where key_id in (${keys})`;
}

/** Statements of such a block that lock what the items need to themselves. */
export function lockInBlock(these: Parameters<typeof locks>[0]): string {
  return locks(these).map((lock) => `${lockRowsInBlock(lock)};`).join("\n    ");
}
