import type { Database } from "../../ground/database/mod.ts";
import { without } from "./figures.ts";
import { type SummedRow, summedRows } from "./rows.ts";
import { isTime, type RowsQuery } from "./rows_query.ts";

/**
 * Adds up roll-ups by groups, those that are not among the top ones as one group. Only what is told apart is read by
 * group: the rest is what is left of all, and so are keys that belong to nobody.
 */
export async function foldedRows(
  database: Database,
  query: RowsQuery,
  top?: readonly string[],
): Promise<SummedRow[]> {
  const { columns } = query;
  const at = columns.findIndex(({ by }) => !isTime(by));
  const noun = columns[at];
  const owners = noun?.by === "owner"
    ? [...new Set(noun.owners.values())].filter((name) => name !== "")
    : undefined;
  if (noun === undefined || (top === undefined && owners === undefined)) {
    return await summedRows(database, query);
  }
  const names = top === undefined
    ? owners!
    : owners === undefined
    ? top
    : top.filter((name) => name !== "");
  const best = await summedRows(database, { ...query, among: { column: noun, names } });
  const ofTime = { ...query, columns: columns.toSpliced(at, 1) };
  const isNobodyTold = owners !== undefined && (top === undefined || top.includes(""));
  const owned = !isNobodyTold || top === undefined
    ? undefined
    : await summedRows(database, { ...ofTime, among: { column: noun, names: owners } });
  const all = await summedRows(database, ofTime);
  const rest = (from: readonly SummedRow[], taken: readonly SummedRow[], name: string | null) =>
    leftOf(from, taken).map((row) => ({ ...row, group: row.group.toSpliced(at, 0, name) }));
  const told = best.map((row) => ({ ...row, group: row.group.toSpliced(at, 1) }));
  if (!isNobodyTold) return [...best, ...rest(all, told, null)];
  const nobody = rest(all, owned ?? told, "");
  return [...best, ...nobody, ...owned === undefined ? [] : rest(owned, told, null)];
}

/** What is left of each group without others of the same name. */
function leftOf(from: readonly SummedRow[], taken: readonly SummedRow[]): SummedRow[] {
  const byName = Map.groupBy(taken, ({ group }) => JSON.stringify(group));
  return from.flatMap((row) => {
    const { group } = row;
    const left = { ...without(row, byName.get(JSON.stringify(group)) ?? []), group };
    return left.requests === 0 ? [] : [left];
  });
}
