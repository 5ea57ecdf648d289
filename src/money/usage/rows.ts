import * as z from "zod";
import type { Database, Reading, Row, Value } from "../../ground/database/mod.ts";
import { SUMS } from "../ledger/mod.ts";
import type { RowsQuery } from "./rows_query.ts";
import { Arguments, expressionOf, sourcesOf } from "./sources.ts";
import { jsonArrayOfRows, jsonObject, membersOf, sumOf } from "../../ground/sql/mod.ts";

/** Sums of requests. */
export type Sums = Readonly<Record<typeof SUMS[number], number>>;

/** One group: a value for each column; null for the others. */
export interface SummedRow extends Sums {
  readonly group: readonly (string | number | null)[];
}

/** Sums of no requests. */
export const NONE: Sums = Object.fromEntries(SUMS.map((name) => [name, 0])) as Sums;

const sumsRow = z.object(
  Object.fromEntries(SUMS.map((name) => [name, z.int()])) as Record<
    typeof SUMS[number],
    z.ZodInt
  >,
);

/**
 * Adds up roll-ups by groups.
 *
 * @returns Groups that had requests, in no order unless `most`.
 */
export async function summedRows(database: Database, query: RowsQuery): Promise<SummedRow[]> {
  const statement = rowsStatement(query);
  if (statement === undefined) return [];
  return (await database.all(statement.sql, statement.args)).map((row) => readRow(query, row));
}

/** Returns {@linkcode summedRows} as a query that can be read together with others in one statement. */
export function rowsReading(query: Omit<RowsQuery, "onlyRequests">): Reading<SummedRow[]> {
  const statement = rowsStatement(query);
  if (statement === undefined) return { sql: "select '[]'", args: [], read: () => [] };
  const names = [...query.columns.map((_, at) => `group_${at}`), ...SUMS];
  const args: Value[] = []; // in the order of the text: those of other readings come before and after
  const rows = statement.sql.replaceAll(/\?([0-9]+)/g, (_, place) => {
    args.push(statement.args[Number(place) - 1]!);
    return "?";
  });
  return {
    sql: `select ${jsonArrayOfRows(jsonObject(names.join(", ")))} from (${rows}) as found`,
    args,
    read: (json) => jsonRows.parse(json).map((row) => readRow(query, row)),
  };
}

const jsonRows = z.array(z.record(z.string(), z.union([z.string(), z.number(), z.null()])));

function readRow({ columns }: Pick<RowsQuery, "columns">, row: Row): SummedRow {
  return {
    ...sumsRow.parse({ ...NONE, ...row }),
    group: columns.map((_, at) => row[`group_${at}`] ?? null),
  };
}

/** Undefined if nothing is asked for. */
function rowsStatement(query: RowsQuery): { sql: string; args: Value[] } | undefined {
  const { columns, accountIds, keyIds, most = false, limit } = query;
  if (accountIds?.length === 0 || keyIds?.length === 0) return undefined;
  const args = new Arguments();
  const names = query.onlyRequests ? ["requests"] : SUMS;
  const groups = columns.length === 0
    ? ""
    : `group by ${columns.map((_, at) => at + 1).join(", ")}`;
  const parts = sourcesOf(query, names, args).map((source) => {
    const { from, where, sign } = source;
    const selected = [
      ...columns.map((column, at) => `${expressionOf(column, source)} as raw_${at}`),
      ...names.map((name) => `${sumOf(`${sign}${name}`)} as ${name}`),
    ];
    const only = where.length === 0 ? "" : `where ${where.join(" and ")}`;
    return `select ${selected.join(", ")} ${from} ${only} ${groups}`;
  });
  if (parts.length === 0) return undefined;
  const owners: string[] = [];
  const outer = columns.map((column, at) => {
    let value = `raw_${at}`;
    if (column.by === "owner") {
      const json = JSON.stringify(Object.fromEntries(column.owners));
      owners.push(
        `left join (select key as id, value as label from ${
          membersOf(args.bind(json))
        }) as owners_${at}
          on owners_${at}.id = raw_${at}`,
      );
      value = `coalesce(owners_${at}.label, '')`;
    }
    return `${value} as group_${at}`;
  });
  const sums = names.map((name) => `${sumOf(name)} as ${name}`);
  const sql = `select ${[...outer, ...sums].join(", ")}
    from (${parts.join(" union all ")}) as found ${owners.join(" ")} ${groups}
    having ${sumOf("requests")} > 0 ${most ? "order by credits desc, requests desc, 1" : ""}
    limit ${args.bind(limit)}`;
  return { sql, args: args.values };
}
