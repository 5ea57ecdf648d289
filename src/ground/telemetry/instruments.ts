import { metrics as otelMetrics } from "@opentelemetry/api";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { VERSION } from "../platform/mod.ts";

/** How the values of several threads become one. */
type Merging = "sum" | "max" | "min";

type Labels = Readonly<Record<string, string>>;

/** Makes counters, histograms and gauges of one registry, the first two also for OpenTelemetry under the same names. */
export class Instruments {
  readonly registry = new Registry();

  /** Makes a counter. The returned function takes label values in the order of their names, and a value. */
  counter(name: string, help: string, labelNames: readonly string[]) {
    const counter = new Counter({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.registry],
    });
    const series = seriesOf(labelNames, (labels) => {
      const child = counter.labels(labels);
      return { add: (value) => child.inc(value), labels };
    });
    if (labelNames.length === 0) series([]).add(0); // exported from the start
    const exported = meter.createCounter(name, { description: help });
    return (values: readonly string[], value: number) => {
      const { add, labels } = series(values);
      add(value);
      exported.add(value, labels);
    };
  }

  /** Makes a histogram. The returned function takes label values in the order of their names, and a value. */
  histogram(name: string, help: string, labelNames: readonly string[], buckets: number[]) {
    const histogram = new Histogram({
      name,
      help,
      labelNames: [...labelNames],
      buckets,
      registers: [this.registry],
    });
    const series = seriesOf(labelNames, (labels) => {
      const child = histogram.labels(labels);
      return { add: (value) => child.observe(value), labels };
    });
    const exported = meter.createHistogram(name, {
      description: help,
      advice: { explicitBucketBoundaries: buckets },
    });
    return (values: readonly string[], value: number) => {
      const { add, labels } = series(values);
      add(value);
      exported.record(value, labels);
    };
  }

  /** Makes a gauge. */
  gauge(
    name: string,
    help: string,
    { labelNames = [], merging = "sum" }: {
      readonly labelNames?: readonly string[];
      /** How the values of several threads become one. */
      readonly merging?: Merging;
    } = {},
  ): Gauge {
    return new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.registry],
      aggregator: merging,
    });
  }
}

interface Series {
  readonly labels: Labels;
  readonly add: (value: number) => void;
}

/** Caches series by their label values, since the library's lookup by hashed labels costs more than counting. */
function seriesOf(
  names: readonly string[],
  make: (labels: Labels) => Series,
): (values: readonly string[]) => Series {
  const known = new Map<string, Series>();
  return (values) => {
    const key = values.length === 1 ? values[0]! : values.join("\n");
    let series = known.get(key);
    if (series === undefined) {
      series = make(Object.fromEntries(names.map((name, at) => [name, values[at]!])));
      known.set(key, series);
    }
    return series;
  };
}

/** OpenTelemetry meter. Does nothing unless the process was started with `OTEL_DENO=true`. */
const meter = otelMetrics.getMeter("sluice", VERSION);
