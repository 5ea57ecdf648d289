import { DatabaseError, type FailureKind } from "../database.ts";

/** What SQLite's names of failures mean; any other, ours among them, says that the database cannot be used. */
const KINDS: readonly (readonly [RegExp, FailureKind])[] = [
  [/^SQLITE_BUSY/, "busy"],
  [/^SQLITE_CONSTRAINT_(?:UNIQUE|PRIMARYKEY)$/, "duplicate"],
  [/^SQLITE_CONSTRAINT/, "rule"],
  [/^UNKNOWN_SQLITE_ERROR_3091$/, "rule"], // `SQLITE_CONSTRAINT_DATATYPE`, which the driver has no name for
  [/^SQLITE_(?:ERROR|MISMATCH|RANGE|TOOBIG)/, "statement"],
  [/^SQLITE_UNKNOWN$/, "statement"], // what a server has no name for, such as an integer overflow
];

function kindOf(code: string, message: string): FailureKind {
  if (/UNIQUE constraint failed/.test(message)) return "duplicate"; // a server gives only the family of the code
  return KINDS.find(([names]) => names.test(code))?.[1] ?? "unusable";
}

/**
 * A failure with its kind.
 *
 * @param code SQLite's own name, such as `SQLITE_BUSY`, or one that begins with `SLUICE_`.
 */
export function sqliteError(
  code: string,
  message: string,
  options: ErrorOptions & { readonly outcomeUnknown?: boolean } = {},
): DatabaseError {
  return new DatabaseError(code, message, { ...options, kind: kindOf(code, message) });
}
