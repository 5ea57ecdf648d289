import type { Condition, Value } from "./database.ts";

/** Holds if each of the conditions does; without any, always. */
export function allOf(conditions: readonly Condition[]): Condition {
  return {
    sql: conditions.map(({ sql }) => `(${sql})`).join(" and ") || "true",
    args: conditions.flatMap(({ args }) => args),
  };
}

/**
 * A condition on a value that a filter may give.
 *
 * @param sql Every `?` in it is the value.
 * @returns None if the value is not given.
 */
export function ifGiven(value: Value | undefined, sql: string): readonly Condition[] {
  if (value === undefined) return [];
  return [{ sql, args: sql.split("?").slice(1).map(() => value) }];
}
