/** The JSON array that `read` gives the columns of, in SQL: `value ->> 0` and so on. */
export function fromItems(columns: readonly string[]): string {
  return columns.map((_, at) => `value ->> ${at}`).join(", ");
}

/** A statement that inserts each item of a batch, its elements in the order of `columns`. */
export function insertItems(into: string, columns: readonly string[]): string {
  return `insert into ${into} (${columns.join(", ")}) select ${fromItems(columns)}
    from json_each(?1) where true`;
}
