/** A statement that inserts each item of a batch, its members by the names of `columns`. */
export function insertItems(into: string, columns: readonly string[]): string {
  const values = columns.map((column) => `item ->> '${column}'`).join(", ");
  // parsed once an item, not once a column
  return `insert into ${into} (${columns.join(", ")})
    with items (item) as materialized (select jsonb(value) from json_each(?1))
    select ${values} from items where true`;
}
