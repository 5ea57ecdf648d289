/**
 * What was used: one record per request, an hourly roll-up written with it, and reports.
 *
 * Promise: record and roll-up agree, each request counts once, and reports cost the same however
 * many requests there were. Leaves to others: what it costs (`ledger/`).
 *
 * @module
 */

export { type Ending, recordUsage, type UsageRecord } from "./records.ts";
export { type Grouping, GROUPINGS, type ReportRow, usageReport } from "./report.ts";
