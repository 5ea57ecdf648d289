/**
 * What the gateway says about itself: log lines, metrics, traces.
 *
 * Promise: one line per request, in one of two formats; the number of series is bounded by the
 * settings; none of it holds keys, prompts or upstream secrets.
 * Leaves to others: what is worth saying.
 *
 * @module
 */

export {
  bufferedWriter,
  createLog,
  type Log,
  type LogFields,
  type LogLevel,
  SILENT,
} from "./log.ts";
export { type Commit, type FinishedRequest, Metrics, type Present } from "./metrics.ts";
export { guardProcess } from "./process_guard.ts";
export {
  during,
  NO_TRACING,
  openTelemetry,
  type Stage,
  type Trace,
  type Tracing,
} from "./tracing.ts";
