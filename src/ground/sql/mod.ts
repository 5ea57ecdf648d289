/**
 * Parts of SQL that engines spell differently, as functions.
 *
 * A call of one is a part of the text that an engine writes out when it gets the statement, so that a query or a rule is one text for all.
 *
 * Promise: queries and rules that call them, and say the rest in standard SQL, mean the same on any engine. `tests/source_test.ts` refuses
 * SQLite's own words elsewhere. Leaves to others: which database there is, and what is asked of it.
 *
 * @module
 */

export * from "./functions.ts";
export { POSTGRES_FUNCTIONS } from "./postgres.ts";
export { type Dialect, render } from "./render.ts";
export { containing } from "./search_pattern.ts";
