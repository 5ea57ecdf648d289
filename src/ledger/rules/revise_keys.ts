import type { Rule } from "../../database/mod.ts";

/**
 * Any change of an account, a key, a team or a member of one raises the revision of keys. Gateways keep copies of keys in memory and
 * drop them when that number moves.
 */
export const REVISE_KEYS: Rule = {
  name: "revise_keys",
  sql: ["accounts", "keys", "teams", "team_members"].flatMap((table) =>
    ["insert", "update", "delete"].map((event) =>
      `create trigger ${table}_${event}_revises_keys after ${event} on ${table} begin
    update revisions set number = number + 1 where noun = 'keys';
  end`
    )
  ),
};
