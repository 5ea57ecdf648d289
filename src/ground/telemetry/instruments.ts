import { metrics as otelMetrics } from "@opentelemetry/api";
import { Gauge, type Metric, Registry } from "prom-client";
import { VERSION } from "../platform/mod.ts";

/** How the values of several threads become one. */
type Merging = "sum" | "max" | "min";

type Labels = Readonly<Record<string, string>>;

/**
 * Makes counters, histograms and gauges of one registry, the first two also for OpenTelemetry under the same names.
 *
 * What is counted with each request is counted here, and the library only writes it out: it would look the labels up by a hash
 * of all of them each time.
 */
export class Instruments {
  readonly registry = new Registry();
  /** Does nothing unless the process exports. */
  readonly #meter = otelMetrics.getMeter("sluice", VERSION);

  /** Makes a counter. The returned function takes label values in the order of their names, and a value. */
  counter(name: string, help: string, labelNames: readonly string[]) {
    const series = new SeriesMap(labelNames, (labels) => ({ labels, value: 0 }));
    if (labelNames.length === 0) series.of([]); // exported from the start
    this.#register(
      { name, help, type: "counter" },
      () => series.all().map((one) => ({ ...one })),
    );
    const exported = this.#meter.createCounter(name, { description: help });
    return (values: readonly string[], value: number) => {
      const one = series.of(values);
      one.value += value;
      exported.add(value, one.labels);
    };
  }

  /** Makes a histogram. The returned function takes label values in the order of their names, and a value. */
  histogram(name: string, help: string, labelNames: readonly string[], buckets: number[]) {
    const series = new SeriesMap(labelNames, (labels) => ({
      labels,
      /** Values up to each bound and above the one before, and at last those above all. */
      counts: new Array<number>(buckets.length + 1).fill(0),
      sum: 0,
    }));
    this.#register(
      { name, help, type: "histogram" },
      () =>
        series.all().flatMap(({ labels, counts, sum }) => {
          let count = 0;
          const bounded = counts.map((more, at) => ({
            labels: { le: buckets[at] ?? "+Inf", ...labels },
            value: count += more,
            metricName: `${name}_bucket`,
          }));
          return [
            ...bounded,
            { labels, value: sum, metricName: `${name}_sum` },
            { labels, value: count, metricName: `${name}_count` },
          ];
        }),
    );
    const exported = this.#meter.createHistogram(name, {
      description: help,
      advice: { explicitBucketBoundaries: buckets },
    });
    return (values: readonly string[], value: number) => {
      const one = series.of(values);
      let at = 0;
      while (at < buckets.length && value > buckets[at]!) at++;
      one.counts[at]!++;
      one.sum += value;
      exported.record(value, one.labels);
    };
  }

  /** @param values Returns the present values of all series. */
  #register(about: About, values: () => readonly Value[]): void {
    const get = () => Promise.resolve({ ...about, values: values(), aggregator: "sum" });
    // the registry reads no more of a metric than its name and this
    this.registry.registerMetric({ name: about.name, get } as unknown as Metric);
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

/** What is said of a metric beside its values. */
interface About {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "histogram";
}

/** A value as the library writes it out. */
interface Value {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName?: string;
}

/** What there is of label values that begin alike. */
interface Branch<Series> {
  readonly further: Map<string, Branch<Series>>;
  series: Series | undefined;
}

/** Series by their label values: a look for each of them, as to join them would take longer. */
class SeriesMap<Series> {
  readonly #names: readonly string[];
  readonly #make: (labels: Labels) => Series;
  readonly #root: Branch<Series> = { further: new Map(), series: undefined };
  readonly #all: Series[] = [];

  constructor(names: readonly string[], make: (labels: Labels) => Series) {
    this.#names = names;
    this.#make = make;
  }

  /** The series of these label values, which is made if it is not there. */
  of(values: readonly string[]): Series {
    let branch = this.#root;
    for (const value of values) {
      let next = branch.further.get(value);
      if (next === undefined) {
        next = { further: new Map(), series: undefined };
        branch.further.set(value, next);
      }
      branch = next;
    }
    if (branch.series === undefined) {
      const labels = Object.fromEntries(this.#names.map((name, at) => [name, values[at]!]));
      branch.series = this.#make(labels);
      this.#all.push(branch.series);
    }
    return branch.series;
  }

  /** All that were made. */
  all(): readonly Series[] {
    return this.#all;
  }
}
