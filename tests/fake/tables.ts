/** The tables of a database, whatever its engine. */

import type { Database } from "../../src/ground/database/mod.ts";
import { definitionsOf } from "../../src/ground/database/definitions_of.ts";

/** Names of all tables. */
export async function tablesOf(database: Database): Promise<string[]> {
  const objects = await definitionsOf(database).objects(database);
  return objects.filter(({ object, table }) => object === `table ${table}`)
    .map(({ table }) => table);
}

const COLUMNS = {
  sqlite: `select tables.name as "table", columns.name as "column", columns.pk > 0 as is_key
    from sqlite_schema as tables, pragma_table_info(tables.name) as columns
    where tables.type = 'table' and tables.name not like 'sqlite_%' order by 1, columns.cid`,
  postgres: `select relname as "table", attname as "column",
      coalesce(attnum = any(indkey), false) as is_key
    from pg_class join pg_attribute on attrelid = pg_class.oid
      left join pg_index on indrelid = pg_class.oid and indisprimary
    where relkind = 'r' and relnamespace = current_schema()::regnamespace and attnum > 0
      and not attisdropped
    order by 1, attnum`,
};

/** A column of a table. */
export interface TableColumn {
  readonly table: string;
  readonly column: string;
  /** Whether it is a part of the primary key. */
  readonly isKey: boolean;
}

/** All columns of all tables. */
export async function columnsOf(database: Database): Promise<TableColumn[]> {
  return (await database.all(COLUMNS[database.dialect ?? "sqlite"])).map((row) => ({
    table: String(row.table),
    column: String(row.column),
    isKey: row.is_key === 1,
  }));
}

/** An expression of columns of a table as JSON. */
export function rowAsJson(
  { dialect }: Database,
  table: string,
  columns: readonly string[],
): string {
  return dialect === "postgres" // where functions have at most 100 arguments
    ? `(select json_object_agg(key, value) from json_each(to_json("${table}"))
        where key in (${columns.map((column) => `'${column}'`).join(", ")}))`
    : `json_object(${columns.map((column) => `'${column}', "${column}"`).join(", ")})`;
}
