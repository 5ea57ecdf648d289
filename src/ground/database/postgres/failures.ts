import { DatabaseError, type FailureKind } from "../database.ts";

/**
 * What states of SQL mean (https://www.postgresql.org/docs/current/errcodes-appendix.html); any other: the database cannot be used. Rights
 * that were taken away and tables that are gone fail for all alike, until its operator gives them back.
 */
const KINDS: readonly (readonly [RegExp, FailureKind])[] = [
  // 57014: the role's `statement_timeout`, or its operator, ended what took too long; others are answered
  [/^(?:40001|40P01|53300|55P03|55006|57014)$/, "busy"],
  [/^(?:42501|42P01)$/, "unusable"],
  [/^23505$/, "duplicate"],
  [/^23/, "rule"],
  [/^(?:0A|2[012]|2F|42|54|P[0])/, "statement"],
];

/** What the server says: a system's own code, such as EPIPE, is as long, and no class of states begins like it. */
const STATE = /^[0-9FHPX][0-9A-Z]{4}$/;

/** A connection that ends, a server that starts or stops, or one that does not know itself: what was asked may have been done. */
const IS_LOST = /^(?:08|57P0[^5]|40003)/;

/**
 * Whether to try again at once: another transaction was in its way, a prepared statement is out of date, or the connection was ended as it
 * was idle (57P05, `idle_session_timeout`), before the server read what was asked.
 */
export function isUndone(error: unknown): boolean {
  if (!(error instanceof DatabaseError) || error.outcomeUnknown) return false;
  return /^(?:40|57P05)/.test(error.code) || isOutdated(error);
}

/** Where PostgreSQL finds that out: its message is in whatever language its operator reads. */
const OUTDATED = "RevalidateCachedQuery";

/**
 * Whether the connection's prepared statements are of no use: one was prepared before its table was altered, or a pooler has
 * dropped them.
 */
export function isOutdated(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  const { code, cause } = error;
  return code === "26000" ||
    code === "0A000" && (cause as { routine?: unknown } | undefined)?.routine === OUTDATED;
}

/** A failure of the driver with its kind. */
export function postgresError(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const { code } = error as { code?: unknown };
  const message = error instanceof Error ? error.message : String(error);
  const isSaid = typeof code === "string" && STATE.test(code) && !IS_LOST.test(code);
  return new DatabaseError(typeof code === "string" ? code : "SLUICE_SERVER", message, {
    cause: error,
    kind: isSaid ? KINDS.find(([states]) => states.test(code))?.[1] ?? "unusable" : "unusable",
    outcomeUnknown: !isSaid,
  });
}
