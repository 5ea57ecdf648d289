/**
 * Writes logs, metrics and traces.
 *
 * Promise: one log line per request, in one of two formats; the number of metric series is bounded by the settings;
 * nothing contains keys, prompts or upstream secrets.
 * Leaves to others: what to report.
 *
 * @module
 */

export { exportVariables, isPlatformsOn, startExporting } from "./exporting.ts";
export { limitLastExport } from "./last_export.ts";
export {
  bufferedWriter,
  createLog,
  type Log,
  type LogLevel,
  logSettings,
  PIPE_BYTES,
  SILENT,
} from "./log.ts";
export { endedMetrics, type MetricsSnapshot, sumOfMetrics } from "./merged_metrics.ts";
export { Metrics } from "./metrics.ts";
export type { Present } from "./present_gauges.ts";
export { guardProcess } from "./process_guard.ts";
export { during, NO_TRACING, openTelemetry, type Trace, type Tracing } from "./tracing.ts";
