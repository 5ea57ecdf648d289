/** Tables of this folder: only its SQL reads and writes them (`tests/tables_test.ts`). */
export const TABLES = ["kept_items"] as const;
