/** Tables of this folder: only its SQL reads and writes them (`tests/tables_test.ts`). */
export const TABLES = [
  "accounts",
  "teams",
  "team_members",
  "keys",
  /** When each key was last used. */
  "key_uses",
  /** How often accounts and keys have changed; copies of keys are dropped when it moves. */
  "revisions",
  "passwords",
  "sessions",
  "sign_in_links",
] as const;
