import { Instruments } from "./instruments.ts";
import type { MetricsSnapshot } from "./merged_metrics.ts";
import { type Present, presentGauges } from "./present_gauges.ts";

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
  readonly #instruments = new Instruments();
  readonly #requests = this.#instruments.counter(
    "sluice_requests_total",
    "Requests that have ended.",
    ["dialect", "route", "status", "ending"],
  );
  readonly #errors = this.#instruments.counter(
    "sluice_errors_total",
    "Error responses by reason. Failures after streaming began are counted in sluice_requests_total by ending.",
    ["reason"],
  );
  readonly #unhandled = this.#instruments.counter(
    "sluice_unhandled_errors_total",
    "Uncaught errors and unhandled rejections. Each is a bug; the log has its stack trace.",
    [],
  );
  readonly #webhooks = this.#instruments.counter(
    "sluice_payment_webhooks_total",
    "Calls of the payment webhook by outcome; refused ones were not signed for this gateway.",
    ["outcome"],
  );
  readonly #tokens = this.#instruments.counter(
    "sluice_tokens_total",
    "Tokens of charged requests.",
    [
      "route",
      "kind",
    ],
  );
  readonly #credits = this.#instruments.counter(
    "sluice_credits_charged_total",
    "Credits charged.",
    ["route"],
  );
  readonly #uncollected = this.#instruments.counter(
    "sluice_credits_uncollected_total",
    "Credits not collected because the charge exceeded the balance.",
    [],
  );
  readonly #duration = this.#instruments.histogram(
    "sluice_request_duration_seconds",
    "Time from a request's arrival to the commit of its charge.",
    ["route", "streamed"],
    SECONDS,
  );
  readonly #firstToken = this.#instruments.histogram(
    "sluice_time_to_first_token_seconds",
    "Time from a request's arrival to its first output.",
    ["route", "streamed"],
    SECONDS,
  );
  readonly #attempts = this.#instruments.counter(
    "sluice_upstream_attempts_total",
    "Requests sent to upstreams, by outcome.",
    ["upstream", "outcome"],
  );
  readonly #keyAttempts = this.#instruments.counter(
    "sluice_upstream_key_attempts_total",
    "Requests sent to upstreams with several keys, by the key's place in the settings and outcome.",
    ["upstream", "key", "outcome"],
  );
  readonly #attemptSeconds = this.#instruments.histogram(
    "sluice_upstream_first_byte_seconds",
    "Time from sending a request to an upstream to the first byte of its response.",
    ["upstream"],
    SECONDS,
  );
  readonly #commits = this.#instruments.histogram(
    "sluice_database_commit_seconds",
    "Duration of database commits. Durable ones wait for the disk.",
    ["durable"],
    COMMIT_SECONDS,
  );
  readonly #commitItems = this.#instruments.histogram(
    "sluice_database_commit_items",
    "Writes per commit.",
    ["durable"],
    BATCH_ITEMS,
  );
  readonly #commitFaults = this.#instruments.counter(
    "sluice_database_commit_faults_total",
    "Failed commits.",
    [],
  );

  readonly #alerts = this.#instruments.counter("sluice_alerts_total", "Alerts raised, by kind.", [
    "kind",
  ]);
  readonly #alertDeliveries = this.#instruments.counter(
    "sluice_alert_deliveries_total",
    "Deliveries to receivers of alerts that succeeded or failed, and deliveries of single alerts that were given up.",
    ["receiver", "outcome"],
  );

  readonly #restarts = this.#instruments.counter(
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
    const showPresent = presentGauges(this.#instruments);
    const refresh = async () => showPresent(await present());
    this.snapshot = async () => {
      await refresh();
      return await this.#instruments.registry.getMetricsAsJSON();
    };
    this.text = async () => {
      if (gather !== undefined) return await gather(this.snapshot);
      await refresh();
      return await this.#instruments.registry.metrics();
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
}
