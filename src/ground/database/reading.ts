import type { Database, Value } from "./database.ts";

/** A question to the database that is asked together with others. */
export interface Reading<T> {
  /** A query of one value, a JSON text; its arguments are positional. */
  readonly sql: string;
  readonly args: readonly Value[];
  readonly read: (json: unknown) => T;
}

/** Several readings of one moment: a single statement reads one snapshot of the database. */
export async function readTogether<T extends Readonly<Record<string, unknown>>>(
  database: Database,
  readings: { readonly [Name in keyof T]: Reading<T[Name]> },
): Promise<T> {
  const all = Object.entries<Reading<unknown>>(readings);
  const row = await database.one(
    `select ${all.map(([, { sql }], at) => `(${sql}) as value_${at}`).join(", ")}`,
    all.flatMap(([, { args }]) => args),
  );
  return Object.fromEntries(
    all.map(([name, { read }], at) => {
      const text = row?.[`value_${at}`];
      return [name, read(text === null || text === undefined ? null : JSON.parse(String(text)))];
    }),
  ) as T; // one entry for each name, made by its own `read`
}
