/**
 * Functions of SQL that engines spell differently: queries and rules call these, and everything else that they say is standard SQL.
 * Arguments are expressions, and so is what is returned: a call that the engine which gets the statement writes out ({@linkcode render}).
 *
 * What each promises holds for any engine: `null` in gives `null` out unless a line says otherwise.
 *
 * @module
 */

import { call } from "./render.ts";

/** The smallest value. PostgreSQL's own `least` passes over nulls. */
export function least(...values: readonly [string, string, ...string[]]): string {
  return call("least", ...values);
}

/** The largest value. PostgreSQL's own `greatest` passes over nulls. */
export function greatest(...values: readonly [string, string, ...string[]]): string {
  return call("greatest", ...values);
}

/** The one value where a condition holds, the other where it does not or is null. Only that one is computed. */
export function iif(condition: string, then: string, otherwise: string): string {
  return call("iif", condition, then, otherwise);
}

/** Aggregate, and window function: the sum of whole numbers, which is one too; null without rows. */
export function sumOf(number: string): string {
  return call("sumOf", number);
}

/** The database's clock, in milliseconds since 1970: another one in each statement of a transaction. */
export const CLOCK_MS = call("clockMs");

/** Random hexadecimal digits in lower case, two for each byte; others in each row. */
export function randomHex(bytes: number): string {
  return call("randomHex", `${bytes}`);
}

/** Where a part first is in a text, from 1 on; 0 if it is not. */
export function positionIn(text: string, part: string): string {
  return call("positionIn", text, part);
}

/** The last character of a text. */
export function lastCharacter(text: string): string {
  return call("lastCharacter", text);
}

/** A number that is not negative in lower-case hexadecimal digits, with zeros before it up to a width. */
export function paddedHex(number: string, width: number): string {
  return call("paddedHex", number, `${width}`);
}

/** A random whole number from 0 to below a bound; another in each row. */
export function randomBelow(bound: number): string {
  return call("randomBelow", `${bound}`);
}

/** A whole number whose sums and products may be beyond 2^63: those are fractions, or numbers that {@linkcode isWhole} does not hold of. */
export function wide(number: string): string {
  return call("wide", number);
}

/** Whether a number is whole, and within 2^63. */
export function isWhole(number: string): string {
  return call("isWhole", number);
}

/** Whether a text is like a pattern of {@linkcode containing}. */
export function isLike(text: string, pattern = "?"): string {
  return call("isLike", text, pattern);
}

/** Whether texts are the same to the letter, also those of columns that do not tell case apart. */
export function isSame(left: string, right: string): string {
  return call("isSame", left, right);
}

/** Whether texts are the same but for the case of ASCII letters. */
export function isSameButForCase(left: string, right: string): string {
  return call("isSameButForCase", left, right);
}

/**
 * Whether a column that does not tell case apart has a text, but for the case of ASCII letters. It is found by an index of the column,
 * which may find more: that of PostgreSQL takes ß for ss, and the sign of Kelvin for a k.
 *
 * @param text An argument with its number, such as `?1`: it is said twice.
 */
export function isNamed(column: string, text: string): string {
  return `(${column} = ${text} and ${isSameButForCase(column, text)})`;
}

/** The texts of a JSON array, for `in`. */
export function textsOf(json = "?"): string {
  return call("textsOf", json);
}

/**
 * Rows of a JSON array, for `from`: `value` is an element, as a text; {@linkcode textAt} reads those that are arrays or objects. None of
 * a null.
 */
export function elementsOf(json: string, as = "elements"): string {
  return call("elementsOf", json, as);
}

/** Rows of a JSON array of whole numbers, for `from`: `value` is one. None of a null. */
export function integersOf(json: string, as = "integers"): string {
  return call("integersOf", json, as);
}

/** Rows of a JSON object, for `from`: `key` and `value` of each member, as texts. None of a null. */
export function membersOf(json: string, as = "members"): string {
  return call("membersOf", json, as);
}

/** A text of a JSON object or array, by its name or its place from 0 on; null if there is none. */
export function textAt(json: string, at: string | number): string {
  return call("textAt", json, place(at));
}

/** A whole number of a JSON object or array, by its name or its place from 0 on; null if there is none. */
export function integerAt(json: string, at: string | number): string {
  return call("integerAt", json, place(at));
}

/**
 * A JSON object. Values that are JSON go through {@linkcode jsonOf}.
 *
 * @param members Expressions by name; or comma-separated columns, as `key_id as key, requests`.
 */
export function jsonObject(members: Readonly<Record<string, string>> | string): string {
  const named = typeof members === "string"
    ? members.split(", ").map((one) => {
      const [column, name = column] = one.split(" as ");
      return [name, column];
    })
    : Object.entries(members);
  return call("jsonObject", ...named.map(([name, value]) => `'${name}', ${value}`));
}

/** A JSON array of expressions. */
export function jsonArray(...values: readonly string[]): string {
  return call("jsonArray", ...values);
}

/** Aggregate: a JSON array with an element for each row, or each for which a condition holds; empty without. */
export function jsonArrayOfRows(value: string, condition?: string): string {
  return call("jsonArrayOfRows", value, ...(condition === undefined ? [] : [condition]));
}

/** Aggregate: a JSON object with a member for each row; empty without rows. */
export function jsonObjectOfRows(name: string, value: string): string {
  return call("jsonObjectOfRows", name, value);
}

/** What engines do in different ways, where no function says it. */
export function either(
  { sqlite, postgres }: { readonly sqlite: string; readonly postgres: string },
): string {
  return call("either", sqlite, postgres);
}

/** Whether a text is JSON. */
export function isJson(text: string): string {
  return call("isJson", text);
}

/** What a text that is JSON is: `array`, `object` or another word. */
export function jsonType(text: string): string {
  return call("jsonType", text);
}

/** A query of the arrays or objects of a JSON array, each parsed once for several {@linkcode textAt} and {@linkcode integerAt}. */
export function parsedElementsOf(json: string): string {
  return call("parsedElementsOf", json);
}

/** A text that is JSON, as a part of other JSON. */
export function jsonOf(text: string): string {
  return call("jsonOf", text);
}

/** Holds if the statement before it in its transaction has changed a row. */
export const HAS_CHANGED = call("hasChanged");

/** Joins a table to those before it, which engines with such hints read first. */
export const THEN_JOIN = call("thenJoin");

/** Rows of a table that are to be locked. */
export interface RowsToLock {
  readonly table: string;
  /** The column that `rows` has values of. They are taken in its order, as by all who lock them. */
  readonly key: string;
  /** A query. */
  readonly rows: string;
}

/** A statement that keeps rows from others until its transaction ends. Where one writes at a time, it does nothing. */
export function lockRows({ table, key, rows }: RowsToLock): string {
  return `select 1 as locked from ${table} where ${
    either({
      sqlite: `false and ${key} in (${rows})`,
      // which looks the keys up that were found before, whatever PostgreSQL expects of their number
      postgres: `${key} = any (array(${rows})) order by ${key} for update`,
    })
  }`;
}

/** The same within a block of PL/pgSQL. */
export function lockRowsInBlock(these: RowsToLock): string {
  return lockRows(these).replace("select", "perform");
}

/** What tells the rows of a table apart while a statement runs. */
export const ROW = call("row");

/** A table, for `from`, whose rows are found by an index, whatever the engine expects of others. Engines without such hints have none. */
export function byIndex(table: string, index: string): string {
  return call("byIndex", table, index);
}

/** A table, for `from`, that is read from its beginning to its end: an index would read it in no order. */
export function wholeTable(table: string): string {
  return call("wholeTable", table);
}

/** A column in a condition or a group for which no index is used. */
export function withoutIndex(column: string): string {
  return call("withoutIndex", column);
}

/** Types in definitions of tables, as {@linkcode call}s: nothing where an engine leaves a column without. */
export function typeIfNeeded(type: "integer" | "text"): string {
  return call("typeIfNeeded", type);
}

function place(at: string | number): string {
  return typeof at === "number" ? `${at}` : `'${at}'`;
}
