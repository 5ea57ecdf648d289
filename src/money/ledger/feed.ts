import type { Intake } from "./rules/intake.ts";

/**
 * The statement of a group write that puts each item of a batch to a rule, in the order of the batch. An item is an
 * array with a member for each column of the rule's intake.
 *
 * @param intake The rule's intake.
 * @param onRepeated What happens to a second item of the same key.
 */
export function feed(
  { view, columns }: Intake,
  { onRepeated = "fail" }: { readonly onRepeated?: "fail" | "ignore" } = {},
): string {
  const values = columns.map((_, position) => `item ->> ${position}`).join(", ");
  // parsed once an item, not once a column
  return `insert ${onRepeated === "ignore" ? "or ignore " : ""}into ${view} (${columns.join(", ")})
      with items (item) as materialized (select jsonb(value) from json_each(?1))
      select ${values} from items where true`;
}
