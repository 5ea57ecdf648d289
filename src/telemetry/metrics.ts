import { VERSION } from "../platform/mod.ts";
import { Counter, Gauge, Histogram } from "./series.ts";

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
  readonly #all: (Counter | Gauge | Histogram)[] = [];
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
  );
  readonly #tokens = this.#counter("sluice_tokens_total", "Tokens of charged requests.", [
    "route",
    "kind",
  ]);
  readonly #credits = this.#counter("sluice_credits_charged_total", "Credits charged.", ["route"]);
  readonly #uncollected = this.#counter(
    "sluice_credits_uncollected_total",
    "Credits not collected because the charge exceeded the balance.",
  );
  readonly #duration = this.#histogram(
    "sluice_request_duration_seconds",
    "Time from a request's arrival to the commit of its charge.",
    { labels: ["route", "streamed"], bounds: SECONDS },
  );
  readonly #firstToken = this.#histogram(
    "sluice_time_to_first_token_seconds",
    "Time from a request's arrival to its first output.",
    { labels: ["route", "streamed"], bounds: SECONDS },
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
    { labels: ["upstream"], bounds: SECONDS },
  );
  readonly #commits = this.#histogram(
    "sluice_database_commit_seconds",
    "Duration of database commits. Durable ones wait for the disk.",
    { labels: ["durable"], bounds: COMMIT_SECONDS },
  );
  readonly #commitItems = this.#histogram(
    "sluice_database_commit_items",
    "Writes per commit.",
    { labels: ["durable"], bounds: BATCH_ITEMS },
  );
  readonly #commitFaults = this.#counter(
    "sluice_database_commit_faults_total",
    "Failed commits.",
  );

  /** @param present Returns current values. Called whenever the metrics are read. */
  constructor(present: () => Present | Promise<Present>) {
    const inFlight = this.#gauge("sluice_requests_in_flight", "In-flight requests.");
    const waiting = this.#gauge("sluice_database_writes_waiting", "Writes waiting for a commit.");
    const bytes = this.#gauge("sluice_database_bytes", "Size of the embedded database in bytes.");
    const resting = this.#gauge(
      "sluice_upstream_resting",
      "1 while an upstream is in cooldown after failures: other targets are tried first.",
      ["upstream"],
    );
    const keyResting = this.#gauge(
      "sluice_upstream_key_resting",
      "1 while a key is in cooldown, because it was rejected, exhausted or over its rate limit.",
      ["upstream", "key"],
    );
    const resident = this.#gauge("process_resident_memory_bytes", "Resident memory in bytes.");
    const heap = this.#gauge("sluice_heap_used_bytes", "JavaScript heap in use, in bytes.");
    this.#gauge(
      "process_start_time_seconds",
      "Start time of the process, in seconds since the Unix epoch.",
    ).set([], Math.round(performance.timeOrigin / 1_000));
    this.#gauge("sluice_build_info", "Always 1, labelled with the versions of Sluice and Deno.", [
      "version",
      "deno",
    ]).set([VERSION, Deno.version.deno], 1);
    this.text = async () => {
      const now = await present();
      inFlight.set([], now.requestsInFlight);
      waiting.set([], now.writesWaiting);
      if (now.databaseBytes !== undefined) bytes.set([], now.databaseBytes);
      for (const { name: upstream, resting: rests, keys } of now.upstreams) {
        resting.set([upstream], rests ? 1 : 0);
        for (const { position, resting: keyRests } of keys) {
          keyResting.set([upstream, String(position)], keyRests ? 1 : 0);
        }
      }
      const memory = Deno.memoryUsage();
      resident.set([], memory.rss);
      heap.set([], memory.heapUsed);
      return `${this.#all.map((metric) => metric.text()).join("\n\n")}\n`;
    };
  }

  /** Returns all metrics in the Prometheus text format, version 0.0.4. */
  readonly text: () => Promise<string>;

  /** Counts a finished request. */
  request(one: FinishedRequest): void {
    const { dialect, route, ending } = one;
    this.#requests.add([dialect, route, String(one.status), ending], 1);
    const kind = [route, String(one.streamed)];
    this.#duration.observe(kind, one.durationMs / 1_000);
    if (one.firstTokenMs !== null) {
      this.#firstToken.observe(kind, one.firstTokenMs / 1_000);
    }
    if (one.priceCredits === 0) return;
    this.#tokens.add([route, "input"], one.inputTokens - one.cachedTokens);
    this.#tokens.add([route, "cached"], one.cachedTokens);
    this.#tokens.add([route, "output"], one.outputTokens);
    this.#credits.add([route], one.chargedCredits);
    if (one.chargedCredits < one.priceCredits) {
      this.#uncollected.add([], one.priceCredits - one.chargedCredits);
    }
  }

  /**
   * Counts an error response.
   *
   * @param reason Reason of the refusal, such as `rate_exceeded`.
   */
  answeredError(reason: string): void {
    this.#errors.add([reason], 1);
  }

  /** Counts an uncaught error. */
  unhandled(): void {
    this.#unhandled.add([], 1);
  }

  /**
   * Counts a request that was sent to an upstream.
   *
   * @param upstream Name of the upstream.
   * @param outcome `answered`, or the kind of failure.
   * @param seconds Time to the first byte of the response.
   */
  attempt(upstream: string, outcome: string, seconds: number): void {
    this.#attempts.add([upstream, outcome], 1);
    if (outcome === "answered") this.#attemptSeconds.observe([upstream], seconds);
  }

  /**
   * Counts a request that was sent with one of several keys.
   *
   * @param upstream Name of the upstream.
   * @param key The key's place in the settings, from 1.
   * @param outcome `answered`, what was wrong with the key, or the kind of failure.
   */
  keyAttempt(upstream: string, key: string, outcome: string): void {
    this.#keyAttempts.add([upstream, key, outcome], 1);
  }

  /** Counts a commit. */
  committed({ durable, seconds, items, failed }: Commit): void {
    const kind = [String(durable)];
    this.#commits.observe(kind, seconds);
    this.#commitItems.observe(kind, items);
    if (failed) this.#commitFaults.add([], 1);
  }

  #counter(name: string, help: string, labels?: readonly string[]): Counter {
    return this.#registered(new Counter({ name, help, ...(labels && { labels }) }));
  }

  #gauge(name: string, help: string, labels?: readonly string[]): Gauge {
    return this.#registered(new Gauge({ name, help, ...(labels && { labels }) }));
  }

  #histogram(
    name: string,
    help: string,
    { labels, bounds }: { readonly labels: readonly string[]; readonly bounds: readonly number[] },
  ): Histogram {
    return this.#registered(new Histogram({ name, help, labels, bounds }));
  }

  #registered<Metric extends Counter | Gauge | Histogram>(metric: Metric): Metric {
    this.#all.push(metric);
    return metric;
  }
}
