/**
 * Reports usage from hourly roll-ups, reads request records, and prunes old ones, as well as items that were kept for clients.
 *
 * Promise: the cost of a report does not depend on the number of requests; pruning goes in small steps.
 * Leaves to others: writing records and roll-ups, which is part of settling a request (`ledger/`).
 *
 * @module
 */

export {
  type Outcome,
  outcomeOf,
  reasonWords,
  repliedBy,
  shortReasonOf,
} from "./describe_request.ts";
export { type AnsweredModel, answeredModels, type CacheShare, cacheShares } from "./watched.ts";
export { type RequestLatency, requestLatency } from "./latency.ts";
export { type OverTimeOptions, todayReading, usageOverTime, type UsagePoint } from "./over_time.ts";
export {
  cacheHitRate,
  daysSince,
  type Grouping,
  GROUPINGS,
  hoursSince,
  latestRecordAt,
  type ReportRow,
  usageReading,
  usageReport,
} from "./report.ts";
export {
  monthStart,
  spentByKey,
  TEAM_GROUPINGS,
  type TeamGrouping,
  teamReport,
  type TeamReportOptions,
  type TeamReportRow,
} from "./team_report.ts";
export {
  latestRecords,
  newestRecordsReading,
  type RequestRecord,
  requestRecord,
} from "./records.ts";
export {
  ID_PREFIX_CHARS,
  recordsByIdPrefix,
  type RecordSearch,
  type SearchedRecords,
  searchRecords,
} from "./search_records.ts";
export { BOUND_WORDS, readRange, ReportError, type UsageRange } from "./range.ts";
export { DayTotals, type DayTotalsOptions } from "./day_totals.ts";
export {
  type PruneStep,
  Retention,
  type RetentionLimits,
  type RetentionOptions,
} from "./retention.ts";
export { type Dimension, DIMENSIONS, type UsageQuery, usageQuery } from "./usage_query.ts";
export type { ComparedFigures, UsageChange, UsageFigures } from "./figures.ts";
export type { UsageParts, UsageScope } from "./selection.ts";
export {
  type ReportOptions,
  reportUsage,
  type UsageReport,
  type UsageRow,
} from "./usage_report.ts";
export { entriesCsv, requestsCsv } from "./record_csv.ts";
export {
  type CreditLine,
  type CreditMovement,
  type CreditStatement,
  creditStatement,
} from "./credit_statement.ts";
export { creditStatementCsv } from "./credit_statement_csv.ts";
export type { DayCharges } from "./charges.ts";
export { usageCsv } from "./usage_csv.ts";
export {
  type BilledDay,
  readBilled,
  reconcile,
  type ReconciledDay,
  type TokenSums,
} from "./reconcile.ts";
