import * as z from "zod";
import { allOf, type Database, ifGiven } from "../../ground/database/mod.ts";
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
  const { sql, args } = allOf([
    ...ifGiven(keyIds && JSON.stringify(keyIds), `id in ${textsOf()}`),
    ...ifGiven(teamId, "team_id = ?"),
    ...ifGiven(memberId, "member_id = ?"),
    ...(inTeam ? [{ sql: "team_id is not null", args: [] }] : []),
  ]);
  const rows = await database.all(`select ${columnsIn(ownedKey)} from keys where ${sql}`, args);
  return rows.map((row) => ownedKey.parse(row));
}
