import * as z from "zod";
import { displayed } from "./platform/mod.ts";

/** The name that a column has in the program: `created_at_ms` is `createdAtMs`. */
export type NameOf<Column> = Column extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<NameOf<Rest>>}`
  : Column;

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

/** The same for a name that is known when the program runs. */
export function nameOf(column: string): string {
  return column.replaceAll(/_(\w)/g, (_all, letter: string) => letter.toUpperCase());
}

/** A column with text of somebody, as it is shown. */
export const shownText = z.string().transform(displayed);

/** A column that is 1 or 0. */
export const flag = z.int().transform((value) => value === 1);

/** A column with JSON. */
export function jsonText<Schema extends z.ZodType>(schema: Schema) {
  return z.string().transform((text): z.output<Schema> => schema.parse(JSON.parse(text)));
}
