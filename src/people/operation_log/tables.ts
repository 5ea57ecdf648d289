/** Tables of this folder: only its SQL reads and writes them (`tests/tables_test.ts`). */
export const TABLES = [
  "operation_log",
  /** Up to which time rows of the log were deleted. */
  "operation_log_pruned",
  /** Replies to writes, which a repeated request gets again. */
  "operation_requests",
] as const;
