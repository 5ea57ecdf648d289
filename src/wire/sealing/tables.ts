/** Tables of this folder: only its SQL reads and writes them (`tests/tables_test.ts`). */
export const TABLES = [
  /** The key of the seals, where several gateways share a server. */
  "secrets",
] as const;
