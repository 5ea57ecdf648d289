import * as z from "zod";
import { displayed } from "./platform/mod.ts";

/** The name that a column has in the program: `created_at_ms` is `createdAtMs`. */
export type NameOf<Column> = Column extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<NameOf<Rest>>}`
  : Column;

/** A value of the database. */
type Value = string | number | null;

/** A row with the names that its columns have in the program. */
type Named<Columns extends z.ZodRawShape> = {
  [Column in keyof Columns as NameOf<Column>]: z.output<Columns[Column]>;
};

/**
 * Makes the schema of a row: its columns are validated and get the names that they have in the program.
 *
 * @param columns Schemas by column; those that are not named are left out.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import * as z from "zod";
 * import { flag, rowOf } from "./row.ts";
 *
 * const order = rowOf({ id: z.string(), created_at_ms: z.int(), livemode: flag });
 * const read = order.parse({ id: "ord_1", created_at_ms: 5, livemode: 1, note: "" });
 * assertEquals(read, { id: "ord_1", createdAtMs: 5, livemode: true });
 * ```
 */
export function rowOf<Columns extends z.ZodRawShape>(columns: Columns) {
  const names = Object.keys(columns).map((column) => [column, nameOf(column)] as const);
  return z.object(columns).transform((row) => {
    const values = row as Readonly<Record<string, unknown>>;
    const named: Record<string, unknown> = {};
    for (const [column, name] of names) named[name] = values[column];
    return named as Named<Columns>;
  });
}

/** The columns that the schema of a row reads, as a query lists them. */
export function columnsIn(schema: z.ZodType): string {
  const { in: columns } = schema as z.ZodPipe;
  return columns instanceof z.ZodObject
    ? Object.keys(columns.shape).join(", ")
    : columnsIn(columns as z.ZodType);
}

/**
 * Returns the statement that adds a row.
 *
 * @param into `insert into` and the table.
 * @param row Values by the names that the columns have in the program; what is undefined is null.
 * @param more.onlyIf Nothing is added where it does not hold.
 * @param more.then What follows the values: `on conflict`, `returning`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { insertOf } from "./row.ts";
 *
 * assertEquals(insertOf("insert into orders", { id: "ord_1", createdAtMs: 5 }), {
 *   sql: "insert into orders (id, created_at_ms) values (?, ?)",
 *   args: ["ord_1", 5],
 * });
 * ```
 */
export function insertOf(
  into: string,
  row: Readonly<Record<string, Value | undefined>>,
  { onlyIf, then = "" }: {
    readonly onlyIf?: { readonly sql: string; readonly args: readonly Value[] } | undefined;
    readonly then?: string;
  } = {},
): { readonly sql: string; readonly args: readonly Value[] } {
  const columns = Object.keys(row).map(columnOf);
  const values = columns.map(() => "?").join(", ");
  const source = onlyIf === undefined
    ? `values (${values})`
    : `select ${values} where ${onlyIf.sql}`;
  return {
    sql: `${into} (${columns.join(", ")}) ${source} ${then}`.trimEnd(),
    args: [...Object.values(row).map((value) => value ?? null), ...onlyIf?.args ?? []],
  };
}

/** The name of a column, as {@linkcode NameOf}. */
export function nameOf(column: string): string {
  return column.replaceAll(/_(\w)/g, (_all, letter: string) => letter.toUpperCase());
}

/** The column of a name: what {@linkcode nameOf} undoes. */
function columnOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A column with text of somebody, as it is shown. */
export const shownText = z.string().transform(displayed);

/** A column that is 1 or 0. */
export const flag = z.int().transform((value) => value === 1);

/** A column with JSON. */
export function jsonText<Schema extends z.ZodType>(schema: Schema) {
  return z.string().transform((text): z.output<Schema> => schema.parse(JSON.parse(text)));
}
