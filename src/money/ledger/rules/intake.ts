import type { ColumnType, Intake } from "../../../ground/database/mod.ts";

export type { Intake };

/** The values of a column; what is undefined is null, and not written. */
interface Values {
  readonly integer: number | null | undefined;
  readonly text: string | null | undefined;
}

/**
 * What one decision is made on, by the names of the columns.
 *
 * Within one version of the schema columns are only added, and a rule takes an added one as null where it is
 * missing: gateways of older programs insert without it.
 */
export type Given<Of extends Intake> = {
  readonly [Column in keyof Of["columns"]]: Values[Of["columns"][Column] & ColumnType];
};
