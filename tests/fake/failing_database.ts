import { type Database, DatabaseError } from "../../src/ground/database/mod.ts";

/** What happens at a call: it is not carried out, or its answer is lost. */
export type Fault = "before" | "after";

/** A database that fails at one call, and at all from then on until it is mended. */
export function failingDatabase(database: Database) {
  let left = Infinity;
  let fault: Fault = "before";
  let isDead = false;
  const calls = { count: 0 };
  const around = async <T>(work: () => Promise<T>): Promise<T> => {
    const died = () =>
      new DatabaseError("SLUICE_TEST", "killed", { outcomeUnknown: fault === "after" });
    if (isDead) throw died();
    calls.count++;
    if (--left > 0) return await work();
    isDead = true;
    if (fault === "after") await work();
    throw died();
  };
  const wrapped: Database = {
    get place() {
      return database.place;
    },
    get dialect() {
      return database.dialect;
    },
    get waiting() {
      return database.waiting;
    },
    // polls of the gateway are not those of the request
    all: (sql, args, options) =>
      isOwn(sql)
        ? around(() => database.all(sql, args, options))
        : database.all(sql, args, options),
    one: (sql, args) =>
      isOwn(sql) ? around(() => database.one(sql, args)) : database.one(sql, args),
    batch: (statements) =>
      statements.some(({ sql }) => isOwn(sql))
        ? around(() => database.batch(statements))
        : database.batch(statements),
    write: (write, item) => database.write(write, item),
    close: () => database.close(),
    line: database.line?.bind(database),
  };
  return {
    wrapped,
    calls,
    killAt(call: number, how: Fault) {
      [left, fault, isDead] = [call, how, false];
    },
    mend() {
      [left, isDead] = [Infinity, false];
    },
  };
}

/** Statements of jobs that run beside requests. */
function isOwn(sql: string): boolean {
  return !/from revisions|alert_jobs|alert_conditions|from loans|leases|gateways/.test(sql);
}
