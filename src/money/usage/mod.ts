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
export { answeredModels, type CacheShare, cacheShares, newestCacheShares } from "./watched.ts";
export { type RequestLatency, requestLatency } from "./latency.ts";
export { accountUsage, usageReading, type UsageSum } from "./account_usage.ts";
export { daysSince, hoursSince, monthStart, untilNow } from "./bounds.ts";
export { keyTotalsReading, SpentByKey } from "./key_totals.ts";
export {
  latestRecordAt,
  latestRecords,
  newestRecordsReading,
  type RequestRecord,
  requestRecord,
} from "./records.ts";
export {
  ID_PREFIX_CHARS,
  recordsByIdPrefix,
  type RecordSearch,
  searchRecords,
} from "./search_records.ts";
export { BOUND_WORDS, readRange, ReportError } from "./range.ts";
export { DayTotals } from "./day_totals.ts";
export { Retention, type RetentionLimits } from "./retention.ts";
export { type Dimension, DIMENSIONS, type UsageQuery, usageQuery } from "./usage_query.ts";
export { creditsIn } from "./figures.ts";
export {
  type ComparedFigures,
  type UsageFigures,
  type UsageReport,
  usageReportShape,
  type UsageRow,
} from "./report_shape.ts";
export type { UsageParts, UsageScope } from "./selection.ts";
export { reportUsage } from "./usage_report.ts";
export { entriesCsv, requestsCsv } from "./record_csv.ts";
export { type CreditLine, type CreditStatement, creditStatement } from "./credit_statement.ts";
export { creditStatementCsv } from "./credit_statement_csv.ts";
export { type CsvColumns, csvText } from "./csv.ts";
export { usageCsv } from "./usage_csv.ts";
export { readBilled, reconcile, type ReconciledDay, type TokenSums } from "./reconcile.ts";
