/**
 * Functions of SQL that engines spell differently: queries and rules call these, and everything else that they say is standard SQL.
 * Arguments are expressions, and so is what is returned, as SQLite spells it; an engine with other spellings is added here.
 *
 * What each promises holds for any engine: `null` in gives `null` out unless a line says otherwise.
 *
 * @module
 */

/** The smallest value. PostgreSQL's own `least` passes over nulls. */
export function least(...values: readonly [string, string, ...string[]]): string {
  return `min(${values.join(", ")})`;
}

/** The largest value. PostgreSQL's own `greatest` passes over nulls. */
export function greatest(...values: readonly [string, string, ...string[]]): string {
  return `max(${values.join(", ")})`;
}

/** The one value where a condition holds, the other where it does not or is null. Only that one is computed. */
export function iif(condition: string, then: string, otherwise: string): string {
  return `iif(${condition}, ${then}, ${otherwise})`;
}

/** The database's clock, in milliseconds since 1970: another one in each statement of a transaction. */
export const CLOCK_MS = "cast(unixepoch('subsec') * 1000 as integer)";

/** Random hexadecimal digits in lower case, two for each byte; others in each row. */
export function randomHex(bytes: number): string {
  return `lower(hex(randomblob(${bytes})))`;
}

/** Where a part first is in a text, from 1 on; 0 if it is not. */
export function positionIn(text: string, part: string): string {
  return `instr(${text}, ${part})`;
}

/** The last character of a text. */
export function lastCharacter(text: string): string {
  return `substr(${text}, -1)`;
}

/** A number that is not negative in lower-case hexadecimal digits, with zeros before it up to a width. */
export function paddedHex(number: string, width: number): string {
  return `printf('%0${width}x', ${number})`;
}

/** Whether texts are the same but for the case of ASCII letters. */
export function isSameButForCase(left: string, right: string): string {
  return `${left} = ${right} collate nocase`;
}

/** The texts of a JSON array, for `in`. */
export function textsOf(json = "?"): string {
  return `(select value from json_each(${json}))`;
}

/** Rows of a JSON array, for `from`: `value` is an element. None of a null. */
export function elementsOf(json: string, as?: string): string {
  return `json_each(${json})${as === undefined ? "" : ` as ${as}`}`;
}

/** Rows of a JSON object, for `from`: `key` and `value` of each member. None of a null. */
export function membersOf(json: string, as?: string): string {
  return `json_each(${json})${as === undefined ? "" : ` as ${as}`}`;
}

/** A text of a JSON object or array, by its name or its place from 0 on; null if there is none. */
export function textAt(json: string, at: string | number): string {
  return `${json} ->> ${typeof at === "number" ? at : `'${at}'`}`;
}

/** A whole number of a JSON object or array, by its name or its place from 0 on; null if there is none. */
export function integerAt(json: string, at: string | number): string {
  return textAt(json, at); // SQLite gives the value its type
}

/** A JSON object, from expressions by name. Values that are JSON go through {@linkcode jsonOf}. */
export function jsonObject(members: Readonly<Record<string, string>>): string {
  return `json_object(${
    Object.entries(members).map(([name, value]) => `'${name}', ${value}`).join(", ")
  })`;
}

/** A JSON array of expressions. */
export function jsonArray(...values: readonly string[]): string {
  return `json_array(${values.join(", ")})`;
}

/** Aggregate: a JSON array with an element for each row; empty without rows. */
export function jsonArrayOfRows(value: string): string {
  return `json_group_array(${value})`;
}

/** A text that is JSON, as a part of other JSON. */
export function jsonOf(text: string): string {
  return `json(${text})`;
}
