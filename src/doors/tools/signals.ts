/** Where tools send telemetry (OTLP over HTTP), with the field of its JSON. */
export const SIGNALS = {
  "/v1/traces": "resourceSpans",
  "/v1/metrics": "resourceMetrics",
  "/v1/logs": "resourceLogs",
} as const;
/** One of these paths. */
export type Signal = keyof typeof SIGNALS;
