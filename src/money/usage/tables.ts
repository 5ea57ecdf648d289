/** Tables of this folder: only its SQL reads and writes them, and the rules (`tests/tables_test.ts`). */
export const TABLES = [
  "usage_records",
  "usage_hours",
  "usage_days",
  /** Hours of all accounts. */
  "usage_totals",
  /** Days of all accounts that are over, by account, model and value of a tag. */
  "usage_day_totals",
  /** Hours and days of tags, and of why requests failed. */
  "usage_tags",
  /** Tags, and values of each, that an account's roll-ups of a day tell apart. */
  "tag_values",
  /** One row: how many records were pruned, and what was uncollected of them. */
  "pruned_records",
  /** Sums of pruned records. */
  "pruned_hours",
  /** Charges of pruned records by key and quarter of an hour. */
  "pruned_charges",
  /** One row: up to which record prices may be missing. */
  "price_storage",
] as const;
