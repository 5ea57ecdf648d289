import { metrics as otelMetrics } from "@opentelemetry/api";
import {
  AggregatorRegistry,
  Counter,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from "prom-client";
import { VERSION } from "../platform/mod.ts";

/** A finished request. */
export interface FinishedRequest {
  readonly dialect: string;
  readonly route: string;
  readonly status: number;
  readonly ending: string;
  readonly streamed: boolean;
  readonly durationMs: number;
  readonly firstTokenMs: number | null;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly priceCredits: number;
  readonly chargedCredits: number;
}

/** A commit of the database writer. */
export interface Commit {
  readonly durable: boolean;
  readonly seconds: number;
  readonly items: number;
  readonly failed: boolean;
}

/** Values that are read whenever the metrics are. */
export interface Present {
  readonly requestsInFlight: number;
  readonly writesWaiting: number;
  readonly databaseBytes: number | undefined;
  readonly upstreams: readonly PresentUpstream[];
}

/** An upstream at present. */
export interface PresentUpstream {
  readonly name: string;
  readonly resting: boolean;
  /** Keys of an upstream that has several, by their place in the settings. */
  readonly keys: readonly { readonly position: number; readonly resting: boolean }[];
}

/** All metrics of one thread, as plain data. */
export type MetricsSnapshot = readonly MetricObjectWithValues<MetricValue<string>>[];

/** How the values of several threads become one. */
type Merging = "sum" | "max" | "min";

/**
 * Adds the metrics of the threads of a process up.
 *
 * @param snapshots One of each thread.
 * @returns Prometheus text.
 */
export function sumOfMetrics(snapshots: readonly MetricsSnapshot[]): Promise<string> {
  return merged(snapshots).metrics();
}

/**
 * What remains of the metrics of a thread that has ended: its counts, so that sums do not fall.
 *
 * @param snapshots Of the thread, and of others that have ended before.
 * @returns Their sum.
 */
export async function endedMetrics(
  snapshots: readonly MetricsSnapshot[],
): Promise<MetricsSnapshot> {
  const all: MetricsSnapshot = await merged(snapshots).getMetricsAsJSON();
  return all.filter(({ type }) => COUNTING.has(String(type)));
}

const COUNTING = new Set(["counter", "histogram"]);

function merged(snapshots: readonly MetricsSnapshot[]): Registry {
  return AggregatorRegistry.aggregate(snapshots.map((one) => [...one]));
}

type Labels = Readonly<Record<string, string>>;

/** Buckets of durations, from 1 ms to 10 min. */
const SECONDS = [
  0.001,
  0.0025,
  0.005,
  0.01,
  0.025,
  0.05,
  0.1,
  0.25,
  0.5,
  1,
  2.5,
  5,
  10,
  30,
  60,
  120,
  300,
  600,
];
const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
const BATCH_ITEMS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000];

/**
 * Collects metrics, as Prometheus text and, if the process exports OpenTelemetry, also there under the same names.
 *
 * Label values are names of routes and upstreams from the settings, or from closed lists. The number of series is
 * therefore bounded by the settings, whatever clients send.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = this.#counter(
    "sluice_requests_total",
    "AdmittedRequest requests that have ended.",
    ["dialect", "route", "status", "ending"],
  );
  readonly #errors = this.#counter(
    "sluice_errors_total",
    "Error responses by reason. Failures after streaming began are counted in sluice_requests_total by ending.",
    ["reason"],
  );
  readonly #unhandled = this.#counter(
    "sluice_unhandled_errors_total",
    "Uncaught errors and unhandled rejections. Each is a bug; the log has its stack trace.",
    [],
  );
  readonly #webhooks = this.#counter(
    "sluice_payment_webhooks_total",
    "Calls of the payment webhook by outcome; refused ones were not signed for this gateway.",
    ["outcome"],
  );
  readonly #tokens = this.#counter("sluice_tokens_total", "Tokens of charged requests.", [
    "route",
    "kind",
  ]);
  readonly #credits = this.#counter("sluice_credits_charged_total", "Credits charged.", ["route"]);
  readonly #uncollected = this.#counter(
    "sluice_credits_uncollected_total",
    "Credits not collected because the charge exceeded the balance.",
    [],
  );
  readonly #duration = this.#histogram(
    "sluice_request_duration_seconds",
    "Time from a request's arrival to the commit of its charge.",
    ["route", "streamed"],
    SECONDS,
  );
  readonly #firstToken = this.#histogram(
    "sluice_time_to_first_token_seconds",
    "Time from a request's arrival to its first output.",
    ["route", "streamed"],
    SECONDS,
  );
  readonly #attempts = this.#counter(
    "sluice_upstream_attempts_total",
    "Requests sent to upstreams, by outcome.",
    ["upstream", "outcome"],
  );
  readonly #keyAttempts = this.#counter(
    "sluice_upstream_key_attempts_total",
    "Requests sent to upstreams with several keys, by the key's place in the settings and outcome.",
    ["upstream", "key", "outcome"],
  );
  readonly #attemptSeconds = this.#histogram(
    "sluice_upstream_first_byte_seconds",
    "Time from sending a request to an upstream to the first byte of its response.",
    ["upstream"],
    SECONDS,
  );
  readonly #commits = this.#histogram(
    "sluice_database_commit_seconds",
    "Duration of database commits. Durable ones wait for the disk.",
    ["durable"],
    COMMIT_SECONDS,
  );
  readonly #commitItems = this.#histogram(
    "sluice_database_commit_items",
    "Writes per commit.",
    ["durable"],
    BATCH_ITEMS,
  );
  readonly #commitFaults = this.#counter(
    "sluice_database_commit_faults_total",
    "Failed commits.",
    [],
  );

  readonly #alerts = this.#counter("sluice_alerts_total", "Alerts raised, by kind.", ["kind"]);
  readonly #alertDeliveries = this.#counter(
    "sluice_alert_deliveries_total",
    "Deliveries to receivers of alerts that succeeded or failed, and deliveries of single alerts that were given up.",
    ["receiver", "outcome"],
  );

  readonly #restarts = this.#counter(
    "sluice_worker_restarts_total",
    "Serving threads that ended unexpectedly and were started again.",
    [],
  );

  /**
   * @param present Returns current values. Called whenever the metrics are read.
   * @param gather Makes the text of the metrics of all threads, given those of this one. Default: there is no other.
   */
  constructor(
    present: () => Present | Promise<Present>,
    gather?: (own: () => Promise<MetricsSnapshot>) => Promise<string>,
  ) {
    const gauge = (
      name: string,
      help: string,
      labelNames: readonly string[] = [],
      aggregator: Merging = "sum",
    ) =>
      new Gauge({
        name,
        help,
        labelNames: [...labelNames],
        registers: [this.#registry],
        aggregator,
      });
    gauge("sluice_workers", "Threads that serve requests.").set(1);
    const inFlight = gauge("sluice_requests_in_flight", "In-flight requests.");
    const waiting = gauge("sluice_database_writes_waiting", "Writes waiting for a commit.");
    const bytes = gauge(
      "sluice_database_bytes",
      "Size of the embedded database in bytes.",
      [],
      "max",
    );
    const resting = gauge(
      "sluice_upstream_resting",
      "1 while an upstream is in cooldown after failures: other targets are tried first.",
      ["upstream"],
      "max",
    );
    const keyResting = gauge(
      "sluice_upstream_key_resting",
      "1 while a key is in cooldown, because it was rejected, exhausted or over its rate limit.",
      ["upstream", "key"],
      "max",
    );
    const resident = gauge(
      "process_resident_memory_bytes",
      "Resident memory in bytes.",
      [],
      "max",
    );
    const heap = gauge("sluice_heap_used_bytes", "JavaScript heap in use, in bytes.");
    gauge(
      "process_start_time_seconds",
      "Start time of the process, in seconds since the Unix epoch.",
      [],
      "min",
    )
      .set(Math.round(performance.timeOrigin / 1_000));
    gauge("sluice_build_info", "Always 1, labelled with the versions of Sluice and Deno.", [
      "version",
      "deno",
    ], "max")
      .set({ version: VERSION, deno: Deno.version.deno }, 1);
    const refresh = async () => {
      const now = await present();
      inFlight.set(now.requestsInFlight);
      waiting.set(now.writesWaiting);
      if (now.databaseBytes !== undefined) bytes.set(now.databaseBytes);
      for (const { name: upstream, resting: rests, keys } of now.upstreams) {
        resting.set({ upstream }, rests ? 1 : 0);
        for (const { position, resting: keyRests } of keys) {
          keyResting.set({ upstream, key: String(position) }, keyRests ? 1 : 0);
        }
      }
      const memory = Deno.memoryUsage();
      resident.set(memory.rss);
      heap.set(memory.heapUsed);
    };
    this.snapshot = async () => {
      await refresh();
      return await this.#registry.getMetricsAsJSON();
    };
    this.text = async () => {
      if (gather !== undefined) return await gather(this.snapshot);
      await refresh();
      return await this.#registry.metrics();
    };
  }

  /** Returns the metrics of all threads in the Prometheus text format, version 0.0.4. */
  readonly text: () => Promise<string>;

  /** Returns the metrics of this thread. */
  readonly snapshot: () => Promise<MetricsSnapshot>;

  /** Counts a serving thread that was started again. */
  restarted(): void {
    this.#restarts([], 1);
  }

  /** Counts a finished request. */
  request(one: FinishedRequest): void {
    const { dialect, route, ending } = one;
    this.#requests([dialect, route, String(one.status), ending], 1);
    const kind = [route, String(one.streamed)];
    this.#duration(kind, one.durationMs / 1_000);
    if (one.firstTokenMs !== null) {
      this.#firstToken(kind, one.firstTokenMs / 1_000);
    }
    if (one.priceCredits === 0) return;
    this.#tokens([route, "input"], one.inputTokens - one.cachedTokens);
    this.#tokens([route, "cached"], one.cachedTokens);
    this.#tokens([route, "output"], one.outputTokens);
    this.#credits([route], one.chargedCredits);
    if (one.chargedCredits < one.priceCredits) {
      this.#uncollected([], one.priceCredits - one.chargedCredits);
    }
  }

  /**
   * Counts an error response.
   *
   * @param reason Reason of the refusal, such as `rate_exceeded`.
   */
  answeredError(reason: string): void {
    this.#errors([reason], 1);
  }

  /**
   * Counts a call of the payment webhook.
   *
   * @param outcome What became of it, such as `applied` or `refused_signature`.
   */
  paymentWebhook(outcome: string): void {
    this.#webhooks([outcome], 1);
  }

  /** Counts an uncaught error. */
  unhandled(): void {
    this.#unhandled([], 1);
  }

  /**
   * Counts a request that was sent to an upstream.
   *
   * @param upstream Name of the upstream.
   * @param outcome `answered`, or the kind of failure.
   * @param seconds Time to the first byte of the response.
   */
  attempt(upstream: string, outcome: string, seconds: number): void {
    this.#attempts([upstream, outcome], 1);
    if (outcome === "answered") this.#attemptSeconds([upstream], seconds);
  }

  /**
   * Counts a request that was sent with one of several keys.
   *
   * @param upstream Name of the upstream.
   * @param key The key's place in the settings, from 1.
   * @param outcome `answered`, what was wrong with the key, or the kind of failure.
   */
  keyAttempt(upstream: string, key: string, outcome: string): void {
    this.#keyAttempts([upstream, key, outcome], 1);
  }

  /** Counts alerts that were raised. */
  alertsRaised(kind: string, count: number): void {
    this.#alerts([kind], count);
  }

  /**
   * Counts deliveries of alerts.
   *
   * @param receiver Name of the receiver.
   * @param outcome `delivered`, `failed` or `given_up`.
   */
  alertDeliveries(receiver: string, outcome: string, count: number): void {
    this.#alertDeliveries([receiver, outcome], count);
  }

  /** Counts a commit. */
  committed({ durable, seconds, items, failed }: Commit): void {
    const kind = [String(durable)];
    this.#commits(kind, seconds);
    this.#commitItems(kind, items);
    if (failed) this.#commitFaults([], 1);
  }

  #counter(name: string, help: string, labelNames: readonly string[]) {
    const counter = new Counter({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.#registry],
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

  #histogram(name: string, help: string, labelNames: readonly string[], buckets: number[]) {
    const histogram = new Histogram({
      name,
      help,
      labelNames: [...labelNames],
      buckets,
      registers: [this.#registry],
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
