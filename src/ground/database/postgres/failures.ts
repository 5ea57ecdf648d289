import { DatabaseError, type FailureKind } from "../database.ts";

/** What states of SQL mean (https://www.postgresql.org/docs/current/errcodes-appendix.html); any other: the database cannot be used. */
const KINDS: readonly (readonly [RegExp, FailureKind])[] = [
  [/^(?:40001|40P01|53300|55P03|55006)$/, "busy"],
  [/^23505$/, "duplicate"],
  [/^23/, "rule"],
  [/^(?:0A|2[012]|2F|42|54|P[0])/, "statement"],
];

/** What the server says: a system's own code, such as EPIPE, is as long, and no class of states begins like it. */
const STATE = /^[0-9FHPX][0-9A-Z]{4}$/;

/** A connection that ends, or a server that starts or stops: what was asked may have been done. */
const IS_LOST = /^(?:08|57P0)/;

/** Whether to try again at once: another transaction was in its way, or a prepared statement is out of date. */
export function isUndone(error: unknown): boolean {
  return error instanceof DatabaseError && /^40/.test(error.code) || isOutdated(error);
}

/** Whether a statement was prepared on the connection before its table was altered. */
export function isOutdated(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === "0A000" &&
    error.message.startsWith("cached plan");
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
