import type { Rule } from "../../../ground/database/mod.ts";

/**
 * Any change of an account, a key, a team, a member of one or an own key raises the revision of keys. Gateways keep copies of keys in
 * memory and drop them when that number moves.
 */
export const REVISE_KEYS: Rule = {
  name: "revise_keys",
  objects: ["accounts", "keys", "teams", "team_members", "upstream_keys"].flatMap((table) =>
    (["insert", "update", "delete"] as const).map((event) => ({
      trigger: `${table}_${event}_revises_keys`,
      event: `after ${event}` as const,
      on: table,
      statements: ["update revisions set number = number + 1 where noun = 'keys'"],
    }))
  ),
};
