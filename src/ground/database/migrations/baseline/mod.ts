/**
 * The schema of a new database, in sections by subject. Start to read at `ledger.ts`: everything else is there for it.
 * Triggers and views are not here: they are rules (`money/ledger/rules/`).
 *
 * What is SQLite's own, for another engine to translate:
 * - `strict` makes a column's type hold; `integer` has 64 bits. Money is in whole credits, times are milliseconds since 1970.
 *   JSON and lists are texts.
 * - `without rowid` stores rows in order of their primary key; tables with long rows are better off without it.
 * - 9007199254740991 is 2^53 − 1, a time that never comes: the largest integer that JavaScript reads exactly, and last in order.
 * - `collate nocase` folds ASCII letters only. Booleans are 0 and 1.
 * - A column's `check` that is null holds, so a nullable column is checked only where it has a value.
 *
 * @module
 */

import { GROUND } from "./ground.ts";
import { LEDGER } from "./ledger.ts";
import { OPERATING } from "./operating.ts";
import { PAYMENTS } from "./payments.ts";
import { PEOPLE } from "./people.ts";
import { USAGE } from "./usage.ts";

/** All sections. A table comes after those that it refers to, as some engines ask for. */
export const BASELINE: readonly string[] = [
  ...PEOPLE,
  ...LEDGER,
  ...USAGE,
  ...PAYMENTS,
  ...OPERATING,
  ...GROUND,
];
