import type { Dialect } from "../../sql/mod.ts";
import {
  type BatchOptions,
  DatabaseError,
  type Row,
  type Statement,
  type Value,
} from "../database.ts";

/** As long as an embedded file waits for another process. */
export const PATIENCE_MS = 5_000;

/** How a server is spoken to. Fails with a `DatabaseError`: its outcome is unknown unless the server said what is wrong. */
export interface Transport {
  /** Its address, without secrets. */
  readonly place: string;
  /** What it understands besides standard SQL. */
  readonly dialect: Dialect;
  /** Reads rows. */
  read(sql: string, args: readonly Value[], patienceMs?: number): Promise<Row[]>;
  /** Commits statements in one transaction; resolves with the rows of each. */
  commit(statements: readonly Statement[], options?: BatchOptions): Promise<Row[][]>;
  /** Ends its connections, after the commits that are on their way. */
  close(): Promise<void>;
}

const OTHER_TIMELINE = "SLUICE_TIMELINE";

/** The failure of a transport that reaches another server than before, which may lack what the earlier one acknowledged last. */
export function otherTimeline(outcomeUnknown: boolean): DatabaseError {
  return new DatabaseError(OTHER_TIMELINE, "another server has replaced the one before", {
    kind: "busy",
    outcomeUnknown,
  });
}

/** Whether that was found before anything was asked of the other one. */
export function isOtherTimeline(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === OTHER_TIMELINE && !error.outcomeUnknown;
}
