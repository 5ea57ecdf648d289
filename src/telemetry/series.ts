import { type Attributes, metrics } from "@opentelemetry/api";
import { VERSION } from "../platform/mod.ts";

/** What all kinds of metrics have. */
export interface MetricOptions {
  readonly name: string;
  readonly help: string;
  /** Names of the labels, in the order of their values. */
  readonly labels?: readonly string[];
}

/** OpenTelemetry meter. Does nothing unless the process was started with `OTEL_DENO=true`. */
const meter = metrics.getMeter("sluice", VERSION);

/** The series of one metric, by their label values: counting must cost no more than finding the series. */
abstract class Metric<Series> {
  readonly #type: string;
  readonly #options: MetricOptions;
  readonly #series = new Map<string, Series>();

  constructor(type: "counter" | "gauge" | "histogram", options: MetricOptions) {
    this.#type = type;
    this.#options = options;
  }

  /** @returns The metric in the Prometheus text format, version 0.0.4. */
  text(): string {
    const { name, help } = this.#options;
    const lines = [...this.#series.values()].flatMap((series) => this.lines(name, series));
    return [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${this.#type}`, ...lines].join("\n");
  }

  /** The series with these label values, made when they are new. */
  protected series(values: readonly string[]): Series {
    const key = values.length === 1 ? values[0]! : values.join("\n");
    let series = this.#series.get(key);
    if (series === undefined) {
      const names = this.#options.labels ?? [];
      const labels = names.map((name, at): [string, string] => [name, values[at]!]);
      this.#series.set(key, series = this.make(labels));
    }
    return series;
  }

  protected abstract make(labels: readonly (readonly [string, string])[]): Series;
  protected abstract lines(name: string, series: Series): string[];
}

interface Sum {
  readonly labels: string;
  readonly attributes: Attributes;
  value: number;
}

/** A number for each series. */
abstract class Sums extends Metric<Sum> {
  protected make(labels: readonly (readonly [string, string])[]): Sum {
    return { labels: labelText(labels), attributes: Object.fromEntries(labels), value: 0 };
  }

  protected lines(name: string, { labels, value }: Sum): string[] {
    return [`${name}${labels} ${value}`];
  }
}

/** A metric that only grows. */
export class Counter extends Sums {
  readonly #exported;

  constructor(options: MetricOptions) {
    super("counter", options);
    if (options.labels === undefined) this.series([]); // exported from the start
    this.#exported = meter.createCounter(options.name, { description: options.help });
  }

  /**
   * Counts.
   *
   * @param values Label values.
   * @param value What is added.
   */
  add(values: readonly string[], value: number): void {
    const sum = this.series(values);
    sum.value += value;
    this.#exported.add(value, sum.attributes);
  }
}

/** A metric with a value at present. */
export class Gauge extends Sums {
  constructor(options: MetricOptions) {
    super("gauge", options);
    if (options.labels === undefined) this.series([]);
  }

  set(values: readonly string[], value: number): void {
    this.series(values).value = value;
  }
}

interface Distribution {
  readonly labels: readonly (readonly [string, string])[];
  readonly attributes: Attributes;
  /** Values by the first bucket that holds them; the last one has no bound. */
  readonly buckets: number[];
  sum: number;
}

/** A metric of how values are distributed. */
export class Histogram extends Metric<Distribution> {
  readonly #bounds: readonly number[];
  readonly #exported;

  /** @param options Also the upper bounds of the buckets, ascending. */
  constructor({ bounds, ...options }: MetricOptions & { readonly bounds: readonly number[] }) {
    super("histogram", options);
    this.#bounds = bounds;
    this.#exported = meter.createHistogram(options.name, {
      description: options.help,
      advice: { explicitBucketBoundaries: [...bounds] },
    });
  }

  /**
   * Counts a value.
   *
   * @param values Label values.
   */
  observe(values: readonly string[], value: number): void {
    const series = this.series(values);
    let bucket = 0;
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket++;
    series.buckets[bucket]!++;
    series.sum += value;
    this.#exported.record(value, series.attributes);
  }

  protected make(labels: readonly (readonly [string, string])[]): Distribution {
    const buckets = new Array<number>(this.#bounds.length + 1).fill(0);
    return { labels, attributes: Object.fromEntries(labels), buckets, sum: 0 };
  }

  protected lines(name: string, { labels, buckets, sum }: Distribution): string[] {
    let count = 0;
    const cumulative = buckets.map((values, at) => {
      count += values;
      const le = at < this.#bounds.length ? String(this.#bounds[at]) : "+Inf";
      return `${name}_bucket${labelText([["le", le], ...labels])} ${count}`;
    });
    const all = labelText(labels);
    return [...cumulative, `${name}_sum${all} ${sum}`, `${name}_count${all} ${count}`];
  }
}

function labelText(labels: readonly (readonly [string, string])[]): string {
  if (labels.length === 0) return "";
  return `{${
    labels.map(([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`).join(",")
  }}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
