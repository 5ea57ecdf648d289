/** Tables of this folder: only its SQL reads and writes them (`tests/tables_test.ts`). */
export const TABLES = [
  "alerts",
  /** One row for each alert and receiver. */
  "alert_deliveries",
  /** What lasts, such as an open circuit. */
  "alert_conditions",
  /** Which gateway looks for alerts, and what it remembers. */
  "alert_jobs",
] as const;
