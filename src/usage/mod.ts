/**
 * What was used: reports over the hourly roll-ups, and the retention of single records.
 *
 * Promise: reports cost the same however many requests there were; pruning goes in small steps.
 * Leaves to others: writing records and roll-ups, which belongs to settling a request (`ledger/`).
 *
 * @module
 */

export {
  daysSince,
  type Grouping,
  GROUPINGS,
  hoursSince,
  latestRecordAt,
  type ReportRow,
  usageReading,
  usageReport,
} from "./report.ts";
export { type RecordFilter, type RequestRecord, requestRecord, requestRecords } from "./records.ts";
export { Retention, type RetentionOptions } from "./retention.ts";
