import type { Json } from "../../../ground/database/mod.ts";

/**
 * What a rule decides on: the columns of a view that has no rows. Each row that is inserted into it is one
 * decision, made after the one before it.
 *
 * Within one version of the schema columns are only added, and a rule takes an added one as null where it is
 * missing: gateways of older programs insert without it.
 */
export interface Intake<Column extends string = string> {
  readonly view: string;
  readonly columns: readonly Column[];
}

/** What one decision is made on, by the names of the columns; what is undefined is null, and not written. */
export type Given<Of extends Intake> = {
  readonly [Column in Of["columns"][number]]: Json | undefined;
};

/** The statement that creates the view. */
export function createView({ view, columns }: Intake): string {
  return `create view ${view} as select ${
    columns.map((column) => `null as ${column}`).join(", ")
  } where false`;
}
