/** Tables of this folder: only its SQL reads and writes them (`tests/tables_test.ts`). */
export const TABLES = [
  "identities",
  "provider_visits",
  "passkeys",
  "passkey_challenges",
] as const;
