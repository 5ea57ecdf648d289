import { delay } from "../std/mod.ts";
import { allOf } from "./conditions.ts";
import type { Condition, Database, Row, Value } from "./database.ts";

/** Rows of a table in the order of an index, newest first, of which a filter that no index serves leaves some. */
export interface Scan {
  /** `from` and the table. */
  readonly from: string;
  /** What is selected of each row. */
  readonly columns: string;
  /** Columns of the order, which is descending and tells all rows apart: the last ones of the index. */
  readonly order: readonly string[];
  /** Conditions that the index serves. */
  readonly within?: readonly Condition[];
  /** Conditions that each row is checked against. */
  readonly filter: readonly Condition[];
  /** Only rows after this place in the order: an expression for each of its columns. */
  readonly after?: Condition | undefined;
  readonly limit: number;
}

/** Rows that are checked at once: a few milliseconds, even if each is somewhere else in the file. */
const PAGE_ROWS = 5_000;
/** Between two pages of a scan, requests have the database for themselves at least for this part of a page's time. */
const PAUSE_SHARE = 0.5;

/** The last page of each database: scans take turns, so that a request waits for one page at most, however many there are. */
const turns = new WeakMap<Database, Promise<unknown>>();

/**
 * Reads rows that a filter leaves, in pages of the index: a filter that matches nothing reads all rows, and one statement
 * that does so would hold up every other use of the database.
 *
 * @returns The rows, up to the limit.
 */
export async function scanRows(
  database: Database,
  { from, columns, order, within = [], filter, after, limit }: Scan,
): Promise<Row[]> {
  const key = order.join(", ");
  const newestFirst = order.map((column) => `${column} desc`).join(", ");
  const found: Row[] = [];
  let before = after;
  while (true) {
    const place = before;
    const range = allOf(
      place === undefined
        ? within
        : [...within, { sql: `(${key}) < (${place.sql})`, args: place.args }],
    );
    const read = async (): Promise<Condition | undefined> => {
      // without a filter, the limit is enough
      const end = filter.length === 0 ? undefined : await database.one(
        `select ${key} ${from} where ${range.sql}
          order by ${newestFirst} limit 1 offset ${PAGE_ROWS - 1}`,
        range.args,
      );
      const last: Condition | undefined = end && {
        sql: order.map(() => "?").join(", "),
        args: order.map((column) => end[column]! as Value),
      };
      const checked = allOf([
        range,
        ...(last === undefined ? [] : [{ sql: `(${key}) >= (${last.sql})`, args: last.args }]),
        ...filter,
      ]);
      found.push(
        ...await database.all(
          `select ${columns} ${from} where ${checked.sql} order by ${newestFirst} limit ?`,
          [...checked.args, limit - found.length],
        ),
      );
      return last;
    };
    before = filter.length === 0 ? await read() : await inTurn(database, read);
    if (before === undefined || found.length >= limit) return found;
  }
}

/** Runs a page after those that other scans wait for. */
async function inTurn<T>(database: Database, read: () => Promise<T>): Promise<T> {
  const earlier = turns.get(database);
  const own = (async () => {
    await earlier;
    const startedTick = performance.now();
    try {
      return { value: await read() };
    } catch (error) {
      return { error };
    } finally {
      await delay((performance.now() - startedTick) * PAUSE_SHARE);
    }
  })();
  turns.set(database, own);
  const outcome = await own;
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
}
