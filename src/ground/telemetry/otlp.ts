import { context, diag, DiagLogLevel, metrics, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { setGlobalErrorHandler, W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPMetricExporter as JsonMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPMetricExporter as ProtobufMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter as JsonTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import * as z from "zod";
import { randomText, VERSION, within } from "../platform/mod.ts";
import type { Log } from "./log.ts";

/** For how long the last export holds up the end of the process. */
const LAST_EXPORT_MS = 5_000;

/** How soon a fault is logged again. */
const REPEAT_MS = 60_000;
const MAX_FAULTS = 100;
const MAX_FAULT_CHARS = 300;

const exporter = z.enum(["otlp", "none"]).default("otlp");
const address = z.url({ protocol: /^https?$/ });
const protocol = z.enum(["http/protobuf", "http/json"]);
const delayMs = z.coerce.number().int().min(1).max(86_400_000);

/**
 * Variables of OpenTelemetry that are read here; addresses are only checked, and read by the library, as are headers, compression and
 * certificates (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).
 */
const variables = z.object({
  OTEL_EXPORTER_OTLP_ENDPOINT: address.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: address.optional(),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: address.optional(),
  OTEL_TRACES_EXPORTER: exporter,
  OTEL_METRICS_EXPORTER: exporter,
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol.default("http/protobuf"),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol.optional(),
  OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: protocol.optional(),
  OTEL_TRACES_SAMPLER: z.enum([
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
  ]).default("parentbased_always_on"),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
  OTEL_BSP_SCHEDULE_DELAY: delayMs.default(5_000),
  OTEL_METRIC_EXPORT_INTERVAL: delayMs.default(60_000),
});
type Variables = z.output<typeof variables>;

/**
 * Exports what this thread traces and counts, over OTLP.
 *
 * @param env Variables of OpenTelemetry.
 * @param log Gets what the library complains of.
 * @returns Sends what is left, within five seconds, and stops. Nothing, where the platform exports.
 * @throws {Error} If a variable has a value that is not known, naming it and those that are.
 */
export function exportOtlp(
  env: Readonly<Record<string, string>>,
  log: Log,
): AsyncDisposable {
  const read = variables.safeParse(env);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new Error(`${issue!.path.join(".")}: ${issue!.message}`);
  }
  const chosen = read.data;
  const resource = defaultResource().merge(
    resourceFromAttributes({
      "service.name": "sluice",
      "service.version": VERSION,
      "service.instance.id": randomText(20), // each thread counts by itself
    }),
  ).merge(detectResources({ detectors: [envDetector] }));
  const tracers = new TracerProvider({
    resource,
    sampler: samplerOf(chosen),
    spanProcessors: chosen.OTEL_TRACES_EXPORTER === "none" ? [] : [spanProcessor(chosen)],
  });
  if (!trace.setGlobalTracerProvider(tracers)) return new AsyncDisposableStack();
  const meters = new MeterProvider({
    resource,
    readers: chosen.OTEL_METRICS_EXPORTER === "none" ? [] : [metricReader(chosen)],
  });
  metrics.setGlobalMeterProvider(meters);
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  reportFaults(log);
  return {
    async [Symbol.asyncDispose]() {
      const ended = Promise.allSettled([tracers.shutdown(), meters.shutdown()]);
      await within(LAST_EXPORT_MS, ended, () => {});
      // a gateway that is started again in this process registers its own
      [trace, metrics, propagation, context, diag].forEach((api) => void api.disable());
    },
  };
}

/**
 * Logs what goes wrong, the same at most once a minute. Of an error only its message is logged: the body of a collector's reply may
 * repeat what it was sent.
 */
function reportFaults(log: Log): void {
  const atTick = new Map<string, number>();
  const report = (message: string) => {
    const tick = performance.now();
    if (tick - (atTick.get(message) ?? -Infinity) < REPEAT_MS) return;
    if (atTick.size >= MAX_FAULTS) atTick.clear();
    atTick.set(message, tick);
    log.warn("telemetry is not exported", { error: message.slice(0, MAX_FAULT_CHARS) });
  };
  setGlobalErrorHandler((error) =>
    report(typeof error === "string" ? error : error.message ?? "unknown fault")
  );
  const quiet = () => {};
  diag.setLogger({ error: report, warn: report, info: quiet, debug: quiet, verbose: quiet }, {
    logLevel: DiagLogLevel.WARN,
    suppressOverrideMessage: true,
  });
}

function spanProcessor(chosen: Variables): BatchSpanProcessor {
  const name = chosen.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? chosen.OTEL_EXPORTER_OTLP_PROTOCOL;
  const Exporter = name === "http/json" ? JsonTraceExporter : ProtobufTraceExporter;
  return new BatchSpanProcessor({
    exporter: new Exporter(),
    scheduledDelayMillis: chosen.OTEL_BSP_SCHEDULE_DELAY,
  });
}

function metricReader(chosen: Variables): PeriodicExportingMetricReader {
  const name = chosen.OTEL_EXPORTER_OTLP_METRICS_PROTOCOL ?? chosen.OTEL_EXPORTER_OTLP_PROTOCOL;
  const Exporter = name === "http/json" ? JsonMetricExporter : ProtobufMetricExporter;
  return new PeriodicExportingMetricReader({
    exporter: new Exporter(),
    exportIntervalMillis: chosen.OTEL_METRIC_EXPORT_INTERVAL,
  });
}

function samplerOf({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio }: Variables) {
  const root: Sampler = name.endsWith("always_on")
    ? new AlwaysOnSampler()
    : name.endsWith("always_off")
    ? new AlwaysOffSampler()
    : new TraceIdRatioBasedSampler(ratio);
  return name.startsWith("parentbased_") ? new ParentBasedSampler({ root }) : root;
}
