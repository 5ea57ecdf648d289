/**
 * Parts of SQL that engines spell differently, as functions.
 *
 * Promise: queries and rules that call them, and say the rest in standard SQL, mean the same on any engine. `tests/source_test.ts` refuses
 * SQLite's own words elsewhere. Leaves to others: which database there is, and what is asked of it.
 *
 * @module
 */

export * from "./functions.ts";
export { containing } from "./search_pattern.ts";
