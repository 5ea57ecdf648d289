import type { Rule } from "../../../ground/database/mod.ts";

/**
 * Any change of an account, a key, a team, a member of one or an own key raises the revision of keys. Gateways keep copies of keys in
 * memory and drop them when that number moves.
 */
export const REVISE_KEYS: Rule = {
  name: "revise_keys",
  sql: ["accounts", "keys", "teams", "team_members", "upstream_keys"].flatMap((table) =>
    ["insert", "update", "delete"].map((event) =>
      `create trigger ${table}_${event}_revises_keys after ${event} on ${table} begin
    update revisions set number = number + 1 where noun = 'keys';
  end`
    )
  ),
};
