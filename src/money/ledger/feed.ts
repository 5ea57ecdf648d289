import {
  columnsOf,
  type Condition,
  isDecision,
  type ItemLock,
  parsedElementsOf,
  type Rule,
  type Statement,
  type Value,
} from "../../ground/database/mod.ts";
import type { Given, Intake } from "./rules/intake.ts";
import { valuesOf } from "./rules/sql/sets.ts";

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
  return `insert into ${intake.view} (${columnsOf(intake).join(", ")})
      ${rowsOf(intake, "?1")} where true${
    onRepeated === "ignore" ? " on conflict do nothing" : ""
  }`;
}

/**
 * What the items of a batch need to themselves: what a rule locks for each of them.
 *
 * @param intake How the items are: the rule's intake, or one with its columns.
 */
export function locksOf(intake: Intake, { objects }: Rule): ItemLock[] {
  const locks = objects.flatMap((object) => isDecision(object) ? object.locks : []);
  return locks.map(({ table, key, rows }) => ({
    table,
    key,
    rows: (items) =>
      `select wanted.key from (${rowsOf(intake, items)}) as new (${columnsOf(intake).join(", ")})
        cross join lateral (${rows}) as wanted (key)`,
  }));
}

/** A query of items as rows. */
function rowsOf(intake: Intake, items: string): string {
  // parsed once an item, not once a column
  return `with items (item) as materialized (${parsedElementsOf(items)})
      select ${valuesOf(intake)} from items`;
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
