import { isLargeNumber, parseJson } from "../json/mod.ts";

/** Any JSON value. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;

/** A JSON object, as parsed; unknown fields stay in it. */
export interface JsonObject {
  [key: string]: JsonValue | undefined;
}

/** Whether a parsed value is an object: no array, and no number that is kept as it was written. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    !isLargeNumber(value);
}

/** The object that a JSON text is, with its integers as they are written; undefined for any other text. */
export function objectIn(json: string): JsonObject | undefined {
  try {
    const value = parseJson(json);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The value as text, else undefined. */
export function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The items of an array, else none. */
export function items(value: unknown): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** The objects of an array, else none. */
export function objects(value: unknown): readonly JsonObject[] {
  return items(value).filter(isObject);
}

/** What a table has for a word that comes from outside; never what all objects have, as for `constructor`. */
export function entryOf<Value>(
  table: Readonly<Record<string, Value>>,
  word: string,
): Value | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

/** A copy of an object without the fields that say null: some SDKs write it for what is left out, and some servers do not read it. */
export function withoutNulls(object: JsonObject): JsonObject {
  const copy: JsonObject = {};
  for (const field in object) if ((object[field] ?? null) !== null) copy[field] = object[field];
  return copy;
}

/** Takes these fields out of an object; answers those that it had. */
export function withoutFields(object: JsonObject, fields: readonly string[]): string[] {
  const had = fields.filter((field) => (object[field] ?? undefined) !== undefined);
  for (const field of fields) delete object[field];
  return had;
}
