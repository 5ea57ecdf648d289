import {
  type Database,
  type Row,
  type Statement,
  WrappedDatabase,
} from "../../ground/database/mod.ts";

/** Statements that run with each write. */
export interface LoggedStatements {
  /** Run before: they fail if the write may not happen. */
  readonly guards: readonly Statement[];
  /** Adds the row to the log if the statement before it has changed something; returns the row's ID. */
  readonly log: Statement;
}

const WRITES = /^\s*(insert|update|delete|replace|with)\b/i;

/**
 * A database whose writes carry the row of the log in the same transaction: what has changed something is in the log, and
 * what has not is not.
 */
export class LoggedDatabase extends WrappedDatabase {
  readonly #statements: LoggedStatements;
  /** Whether a write has added the row. */
  isLogged = false;

  constructor(database: Database, statements: LoggedStatements) {
    super(database);
    this.#statements = statements;
  }

  override async batch(statements: readonly Statement[]): Promise<Row[][]> {
    const { guards, log } = this.#statements;
    // Another execution of the same write is refused by a guard, but not a second batch of this one.
    const before = this.isLogged ? [] : guards;
    const all: Statement[] = [...before];
    const own: number[] = [];
    const logs: number[] = [];
    for (const statement of statements) {
      own.push(all.push(statement) - 1);
      if (WRITES.test(statement.sql)) logs.push(all.push(log) - 1);
    }
    const rows = await this.inner.batch(all);
    if (logs.some((at) => rows[at]!.length > 0)) this.isLogged = true;
    return own.map((at) => rows[at]!);
  }
}
