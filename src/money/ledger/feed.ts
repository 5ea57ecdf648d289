import {
  columnsOf,
  type Condition,
  elementsOf,
  integerAt,
  parsedJson,
  type Statement,
  textAt,
  type Value,
} from "../../ground/database/mod.ts";
import type { Given, Intake } from "./rules/intake.ts";

/**
 * The statement of a group write that puts each item of a batch to a rule, in the order of the batch. An item is an
 * array with a member for each column of the rule's intake.
 *
 * @param intake The rule's intake.
 * @param onRepeated What happens to a second item of the same key.
 */
export function feed(
  intake: Intake,
  { onRepeated = "fail" }: { readonly onRepeated?: "fail" | "ignore" } = {},
): string {
  const { view, columns } = intake;
  const values = columnsOf(intake).map((column, position) =>
    (columns[column] === "integer" ? integerAt : textAt)("item", position)
  );
  // parsed once an item, not once a column
  return `insert into ${view} (${columnsOf(intake).join(", ")})
      with items (item) as materialized (select ${parsedJson("value")} from ${elementsOf("?1")})
      select ${values.join(", ")} from items where true${
    onRepeated === "ignore" ? " on conflict do nothing" : ""
  }`;
}

/**
 * The statement that puts one item to a rule.
 *
 * @param onlyIf Whether it is put to it at all.
 */
export function decide<Of extends Intake>(
  intake: Of,
  given: Given<Of>,
  onlyIf?: Condition,
): Statement {
  const columns = columnsOf(intake);
  // numbers are bound as fractions, and a view's column has no type that would make them whole
  const values = columns.map((column) =>
    intake.columns[column] === "integer" ? "cast(? as bigint)" : "?"
  );
  return {
    sql: `insert into ${intake.view} (${columns.join(", ")}) select ${values.join(", ")}${
      onlyIf === undefined ? "" : ` where ${onlyIf.sql}`
    }`,
    args: [
      ...columns.map((column): Value => given[column as keyof Given<Of>] ?? null),
      ...(onlyIf?.args ?? []),
    ],
  };
}
