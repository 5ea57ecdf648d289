import type { Value } from "../../../ground/database/mod.ts";

/** The promise of `docs/promises.md` that is broken where a row of this kind does not add up. */
export const PROMISE_OF = {
  account: "P1",
  balance: "P1",
  budget: "P8",
  code: "P2",
  day: "P1",
  decision: "P7",
  entry: "P1",
  hold: "P4",
  hour: "P1",
  key: "P1",
  loan: "P4",
  lot: "P1",
  order: "P2",
  pruned: "P1",
  record: "P3",
  revision: "P7",
  schema: "P7",
  settlement: "P2",
  tag: "P1",
  tier: "P8",
  window: "P8",
} as const satisfies Readonly<Record<string, `P${number}`>>;

/** What a row that does not add up is a row of. */
export type Noun = keyof typeof PROMISE_OF;

/** A row that does not add up. */
export interface Mismatch {
  /** What kind of row it is. {@linkcode PROMISE_OF} has the promise that is broken. */
  readonly noun: Noun;
  /** Which check found it, such as `spent`. */
  readonly kind: string;
  /** The account's, lot's, key's or request's id; of an hour or a window all parts of its key. */
  readonly id: string;
  /** What is stored. */
  readonly found: Value;
  /** What the entries, holds and records make of it. */
  readonly expected: Value;
}

/** What is stored and what it should be, as SQL expressions, by kind. */
type Pairs = Readonly<Record<string, readonly [found: string, expected: string]>>;

/** Rows of which each should have what is expected of it. */
export interface Comparison {
  /** A `with` clause. */
  readonly before?: string;
  readonly id: string;
  readonly pairs: Pairs;
  /** Everything behind `from`. */
  readonly from: string;
  readonly groupBy?: string;
}

/**
 * One query of what is off. A single statement reads one snapshot of the database, so that a check is
 * right however busy the gateway is. SQLite sorts on disk, so that memory stays bounded.
 *
 * A row of `sql` has `id` and, for each thing compared, `found_KIND` and `expected_KIND`.
 */
export type Check = {
  /** Unless a row has a column `noun`. */
  readonly noun: Noun;
  /** For the progress display. */
  readonly name: string;
  /**
   * Set for a query of all request records: it takes two request ids, and is run for one range after the
   * other.
   */
  readonly byRecords?: boolean;
} & ({ readonly sql: string } | Comparison);

/** The query of a check: of the rows where any of the pairs differs. */
export function queryOf(check: Check): string {
  if ("sql" in check) return check.sql;
  const { before = "", id, pairs, from, groupBy } = check;
  const all = Object.entries(pairs);
  const columns = all.map(([kind, [found, expected]]) =>
    `${found} as found_${kind}, ${expected} as expected_${kind}`
  );
  const differs = all.map(([kind]) => `found_${kind} is distinct from expected_${kind}`);
  return `${before} select * from (
    select ${id} as id, ${columns.join(", ")} from ${from}
    ${groupBy === undefined ? "" : `group by ${groupBy}`}
  ) as found where ${differs.join(" or ")}`;
}
