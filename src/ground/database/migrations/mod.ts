/**
 * The steps of the schema. The first one makes it whole; each later one changes it, in a file `NNNN_name.ts` here.
 *
 * The numbering begins at 27, as builds before the first release came to this schema in 27 steps. No number has two meanings, so
 * that each program knows from the number whether it can use a database.
 *
 * @module
 */

import { CHARGE_DETAILS } from "./0028_charge_details.ts";
import { KEYS_AT_ONCE } from "./0029_keys_at_once.ts";
import { SIGN_IN } from "./0030_sign_in.ts";
import { PASSKEYS } from "./0031_passkeys.ts";
import { SCIM } from "./0032_scim.ts";
import { TOOLS } from "./0033_tools.ts";
import { BOUND_CREDITS } from "./0034_bound_credits.ts";
import { LOAN_WRITE_OFFS } from "./0035_loan_write_offs.ts";
import { LOANS_OF_KEYS } from "./0036_loans_of_keys.ts";
import { BASELINE } from "./baseline/mod.ts";
import type { Database } from "../database.ts";
import type { Migration } from "./migration.ts";

export type { Migration };

/** The step that a new database begins with. */
export const FIRST: Migration = { version: 27, name: "baseline", statements: BASELINE };

/** Every step, oldest first. */
export const MIGRATIONS: readonly Migration[] = [
  FIRST,
  CHARGE_DETAILS,
  KEYS_AT_ONCE,
  SIGN_IN,
  PASSKEYS,
  SCIM,
  TOOLS,
  BOUND_CREDITS,
  LOAN_WRITE_OFFS,
  LOANS_OF_KEYS,
];

/**
 * The step that a database lists besides while others see it and it is incomplete: a program that does not fill it refuses it, as it refuses
 * every step that it does not know.
 */
export const UNFINISHED: Migration = {
  version: 1_000_000_000,
  name: "copy in progress",
  statements: [],
};

/** The steps that a database is to list. */
export function stepsOf({ isUnfinished }: Pick<Database, "isUnfinished">): readonly Migration[] {
  return isUnfinished ? [...MIGRATIONS, UNFINISHED] : MIGRATIONS;
}

/** The last commit whose program carries databases of smaller numbers over to the first step's schema. */
const LAST_TO_CARRY_OVER = "14e0bef";

/** Why a program cannot use a schema, and what to do. */
export interface SchemaFault {
  readonly code: "SLUICE_NEWER" | "SLUICE_OLDER";
  readonly why: string;
  readonly remedy: string;
}

/**
 * What keeps a program from using a schema; undefined if nothing does.
 *
 * @param version Of the schema; 0 for an empty database.
 * @param latest The last step that the program knows.
 */
export function schemaFault(
  version: number,
  { latest = MIGRATIONS.at(-1)!.version, isBackup = false }: {
    readonly latest?: number;
    readonly isBackup?: boolean;
  } = {},
): SchemaFault | undefined {
  if (version > latest && version === UNFINISHED.version) {
    return {
      code: "SLUICE_NEWER",
      why: "it is being copied to, or that was interrupted",
      remedy: "Wait for sluice migrate to end, or run it again",
    };
  }
  if (version > latest) {
    return {
      code: "SLUICE_NEWER",
      why:
        `it was written by a newer Sluice: its schema is version ${version}, this program knows ` +
        `up to ${latest}`,
      remedy: `Install the newer program${isBackup ? "" : " or restore a backup"}`,
    };
  }
  if (version === 0 || version >= FIRST.version) return undefined;
  const build = `the build of commit ${LAST_TO_CARRY_OVER}`;
  return {
    code: "SLUICE_OLDER",
    why: `it was written by an earlier build of Sluice: its schema is version ${version}, this ` +
      `program knows ${FIRST.version} and later`,
    remedy: isBackup
      ? `Restore it with ${build} and start that once, then use this program`
      : `Start ${build} on it once, then this program`,
  };
}
