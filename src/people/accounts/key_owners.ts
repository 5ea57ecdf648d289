import * as z from "zod";
import type { Database } from "../../ground/database/mod.ts";
import { columnsIn, rowOf, shownText } from "../../ground/row.ts";
import { textsOf } from "../../ground/sql/mod.ts";

const ownedKey = rowOf({
  id: z.string(),
  account_id: z.string(),
  team_id: z.string().nullable(),
  member_id: z.string().nullable(),
  /** Its name, or its hint if it has none. */
  name: shownText,
  /** First and last characters of the key. */
  hint: z.string(),
}).transform((key) => ({ ...key, name: key.name || key.hint }));

/** Whose a key is: none of it ever changes, but for the name. */
export type OwnedKey = z.output<typeof ownedKey>;

/** Selects keys; all that is given must hold. */
export interface OwnedKeyFilter {
  readonly keyIds?: readonly string[] | undefined;
  readonly teamId?: string | undefined;
  readonly memberId?: string | undefined;
  /** Only keys of teams. */
  readonly inTeam?: boolean | undefined;
}

/** Lists keys with their accounts, teams and members, in one query; revoked keys, too. */
export async function ownersOfKeys(
  database: Database,
  { keyIds, teamId, memberId, inTeam = false }: OwnedKeyFilter,
): Promise<OwnedKey[]> {
  const wanted = [
    [`id in ${textsOf()}`, JSON.stringify(keyIds)],
    ["team_id = ?", teamId],
    ["member_id = ?", memberId],
  ] as const;
  const given = wanted.filter(([, value]) => value !== undefined);
  const clauses = [...given.map(([clause]) => clause), ...inTeam ? ["team_id is not null"] : []];
  const rows = await database.all(
    `select ${columnsIn(ownedKey)} from keys where ${
      clauses.length === 0 ? "true" : clauses.join(" and ")
    }`,
    given.map(([, value]) => value!),
  );
  return rows.map((row) => ownedKey.parse(row));
}
