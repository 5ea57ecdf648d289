/** Tables of this folder: only its SQL reads and writes them (`tests/tables_test.ts`). */
export const TABLES = [
  "accounts",
  "teams",
  "team_members",
  "keys",
  /** When each key was last used. */
  "key_uses",
  /** Keys of upstreams that belong to accounts and teams. */
  "upstream_keys",
  /** How often accounts and keys have changed; copies of keys are dropped when it moves. */
  "revisions",
  "passwords",
  "sessions",
  "sign_in_links",
  /** What accounts have from groups of a provider. */
  "group_grants",
  /** Tools that are signed in, and those that wait for it. */
  "tool_grants",
  "device_codes",
  /** Tools that were approved in a browser. */
  "tool_codes",
  /** Registrations of the last two days, by network. */
  "signups",
] as const;
