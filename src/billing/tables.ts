/** Tables of this folder: only its SQL reads and writes them, and the rules (`tests/tables_test.ts`). */
export const TABLES = [
  /** The purchase that was an account's first payment. */
  "first_payments",
] as const;
