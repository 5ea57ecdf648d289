import type { Intake } from "./rules/intake.ts";

/**
 * The statements of a group write that put each item of a batch to a rule, in the order of the batch. An item
 * has a member for each column of the rule's intake.
 */
export function feed({ view, columns }: Intake): readonly string[] {
  const values = columns.map((column) => `item ->> '${column}'`).join(", ");
  return [
    // parsed once an item, not once a column
    `insert into ${view} (${columns.join(", ")})
      with items (item) as materialized (select jsonb(value) from json_each(?1))
      select ${values} from items where true`,
  ];
}
