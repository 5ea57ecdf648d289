import { following } from "../abort.ts";
import type { Portions } from "../blobs/mod.ts";
import type { Route, Target } from "../catalog/mod.ts";
import type { CoarseTimers } from "../coarse_timers.ts";
import { Refusal } from "../refusal.ts";
import type { Log, Metrics, Trace } from "../telemetry/mod.ts";
import { type Failure, failureOf, statusFailure } from "./failure.ts";
import { isSimulated } from "./simulator/mod.ts";
import type { Pass } from "./circuit.ts";
import { TransportFault, type UpstreamReply } from "./transport.ts";
import type { Upstream } from "./upstream.ts";

/** When attempts are repeated. */
export interface RetryPolicy {
  /** Attempts at a target in all. */
  readonly attemptsPerTarget: number;
  /** The first wait before a target is asked again; it doubles, and half of it is random. */
  readonly firstWaitMs: number;
  /** The longest `Retry-After` that is waited for here; longer ones are the caller's to wait. */
  readonly patienceMs: number;
}

export const RETRY_POLICY: RetryPolicy = {
  attemptsPerTarget: 2,
  firstWaitMs: 250,
  patienceMs: 2_000,
};

/** How one request is put to a target, and how its reply is opened. */
export interface Call<T> {
  readonly route: Route;
  /** The caller has left. */
  readonly signal: AbortSignal;
  readonly requestId: string;
  readonly trace: Trace;
  /** Permitted output of a response that comes only when it is whole; 0 for a stream. */
  readonly unstreamedTokens: number;
  prepare(target: Target, upstream: Upstream): {
    readonly path: string;
    readonly body: string | Portions;
    readonly headers: Readonly<Record<string, string>>;
  };
  /**
   * Reads a successful reply as far as is needed to know that it is one. What it throws counts as
   * a failed attempt.
   */
  open(
    reply: UpstreamReply,
    target: Target,
    upstream: Upstream,
    options: { readonly canFailOver: boolean },
  ): Promise<T>;
}

/** One request to one target. */
interface Attempt {
  readonly target: Target;
  readonly upstream: Upstream;
  readonly pass: Pass;
  /** Whether another target can be asked when this one keeps the request waiting. */
  readonly canFailOver: boolean;
}

/** An attempt that led to an answer. */
export interface Called<T> {
  readonly opened: T;
  readonly reply: UpstreamReply;
  readonly upstream: Upstream;
  readonly target: Target;
  /** Attempts in all, this one included. */
  readonly attempts: number;
}

/** Thrown when every attempt failed. */
export class CallFailed extends Error {
  override readonly name = "CallFailed";
  readonly refusal: Refusal;
  readonly attempts: number;
  readonly last: Target | undefined;

  constructor(refusal: Refusal, attempts: number, last: Target | undefined) {
    super(refusal.message, { cause: refusal });
    this.refusal = refusal;
    this.attempts = attempts;
    this.last = last;
  }
}

/** What the upstreams need from outside. */
export interface UpstreamsOptions {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly now: () => number;
  readonly timers: CoarseTimers;
  readonly retries?: RetryPolicy;
}

/** All upstreams, and the order in which a route's targets are asked. */
export class Upstreams {
  readonly #byName: ReadonlyMap<string, Upstream>;
  readonly #log: Log;
  readonly #metrics: Metrics;
  readonly #now: () => number;
  readonly #timers: CoarseTimers;
  readonly #retries: RetryPolicy;

  constructor(
    upstreams: readonly Upstream[],
    { log, metrics, now, timers, retries = RETRY_POLICY }: UpstreamsOptions,
  ) {
    this.#byName = new Map(upstreams.map((upstream) => [upstream.name, upstream]));
    this.#log = log;
    this.#metrics = metrics;
    this.#now = now;
    this.#timers = timers;
    this.#retries = retries;
  }

  /** Whether at least one upstream is not resting. */
  get usable(): boolean {
    return [...this.#byName.values()].some(({ health }) => !health.resting);
  }

  get all(): readonly Upstream[] {
    return [...this.#byName.values()];
  }

  /**
   * Puts a request to a route's targets until one answers.
   *
   * Only what was not sent, and what was answered 429 or 5xx before the first byte, is sent again.
   *
   * @throws {CallFailed} when none does.
   */
  async call<T>(call: Call<T>): Promise<Called<T>> {
    const failures: Failure[] = [];
    let order = this.#reachable(call.route);
    let last: Target | undefined;
    for (let round = 0; order.length > 0 && round < this.#retries.attemptsPerTarget; round++) {
      if (
        round > 0 &&
        !await sleep(this.#waitBefore(round, failures.slice(-order.length)), call.signal)
      ) {
        break;
      }
      const worthAnother: Target[] = [];
      for (const [at, target] of order.entries()) {
        const upstream = this.#byName.get(target.upstream)!;
        const circuit = upstream.health.circuit(target.model);
        const isLast = at === order.length - 1;
        // one that was closed a moment ago may be open by now
        const pass = isLast && worthAnother.length === 0 ? circuit.force() : circuit.pass();
        if (pass === undefined) continue;
        last = target;
        const result = await this.#attempt(call, { target, upstream, pass, canFailOver: !isLast });
        const attempts = failures.length + 1;
        if (!("failure" in result)) return { ...result, attempts };
        const { failure } = result;
        failures.push(failure);
        this.#note(call, target, upstream, failure, attempts);
        // a probe is our idea, not its caller's: whatever comes of it, the others are asked
        const isEnd = failure.kind === "final" && !(pass.isProbe && failure.blame && !isLast);
        if (isEnd || call.signal.aborted) {
          throw new CallFailed(failure.refusal, attempts, target);
        }
        if (this.#canRepeat(failure)) worthAnother.push(target);
      }
      order = worthAnother;
    }
    throw new CallFailed(verdict(failures), failures.length, last);
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    await Promise.all([...this.#byName.values()].map((upstream) => upstream.close()));
  }

  async #attempt<T>(call: Call<T>, attempt: Attempt) {
    const { name } = attempt.upstream;
    const startedTick = performance.now();
    const stage = call.trace.begin("upstream", { "sluice.upstream": name }, "client");
    const result = await this.#ask(call, attempt, stage.traceparent);
    const failure = "failure" in result ? result.failure : undefined;
    if (failure === undefined) attempt.pass.succeeded();
    else if (failure.trips) attempt.pass.failed(failure.timedOut);
    else if (failure.status !== undefined) attempt.pass.succeeded(); // it rejected this request
    else attempt.pass.abandoned();
    const outcome = failure === undefined ? "answered" : OUTCOMES[failure.kind];
    this.#metrics.attempt(name, outcome, (performance.now() - startedTick) / 1_000);
    stage.end({ "sluice.outcome": outcome }, failure);
    return result;
  }

  async #ask<T>(
    call: Call<T>,
    { target, upstream, canFailOver }: Attempt,
    traceparent: string | undefined,
  ) {
    const startedTick = performance.now();
    const patience = canFailOver ? this.#patience(call, upstream) : undefined;
    try {
      const { path, body, headers } = call.prepare(target, upstream);
      const reply = await upstream.send({
        path,
        body,
        headers: {
          ...headers,
          ...upstream.headers,
          ...(traceparent === undefined ? {} : { traceparent }),
        },
        signal: patience?.signal ?? call.signal,
      });
      if (reply.status < 200 || reply.status > 299) {
        patience?.end();
        const failure = await statusFailure(reply, upstream, this.#now());
        failure.refusal.simulated = isSimulated(reply);
        return { failure };
      }
      try {
        const opened = await call.open(reply, target, upstream, { canFailOver });
        upstream.health.succeeded(Math.round(performance.now() - startedTick));
        return { opened, reply, upstream, target };
      } catch (error) {
        reply.discard();
        throw error;
      }
    } catch (error) {
      return { failure: failureOf(error, upstream) };
    } finally {
      patience?.end();
    }
  }

  /** Ends an attempt whose first output does not come in time, while another target can be asked. */
  #patience<T>(call: Call<T>, { headersMs }: Upstream) {
    const { signal, abort } = following(call.signal); // which goes on until the reply has ended
    const ms = headersMs * (1 + call.unstreamedTokens / UNSTREAMED_TOKENS);
    const end = this.#timers.after(ms, () => {
      abort(new TransportFault("no_reply", `no response within ${Math.round(ms)} ms`));
    });
    return { signal, end };
  }

  /** A route's targets in the order of failover, without those that fail; all, if all do. */
  #reachable({ targets }: Route): readonly Target[] {
    const reachable = targets.filter(({ upstream, model }) =>
      !this.#byName.get(upstream)!.health.circuit(model).isOpen
    );
    return reachable.length === 0 ? targets : reachable;
  }

  #note<T>(
    call: Call<T>,
    target: Target,
    upstream: Upstream,
    failure: Failure,
    attempt: number,
  ): void {
    if (failure.blame) upstream.health.failed(failure.detail);
    this.#log.warn("upstream attempt failed", {
      id: call.requestId,
      upstream: target.upstream,
      model: target.model,
      attempt,
      detail: failure.detail,
    });
  }

  /** Whether the same target may be asked again soon. */
  #canRepeat({ kind, retryAfterMs }: Failure): boolean {
    if (retryAfterMs !== undefined) {
      return kind !== "elsewhere" && retryAfterMs <= this.#retries.patienceMs;
    }
    return kind === "again";
  }

  /** How long to wait before another round: as upstreams say, at least the backoff. */
  #waitBefore(round: number, failures: readonly Failure[]): number {
    const backoff = this.#retries.firstWaitMs * 2 ** (round - 1) * (0.5 + Math.random() / 2);
    const told = failures.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
    return Math.max(backoff, told.length === 0 ? 0 : Math.min(...told));
  }
}

/**
 * Output tokens for which a response that is not streamed, and comes only when it is whole, may take as long
 * again.
 */
const UNSTREAMED_TOKENS = 2_000;

/** What an attempt's failure is called in the metrics. */
const OUTCOMES: Readonly<Record<Failure["kind"], string>> = {
  again: "failed",
  busy: "busy",
  elsewhere: "unusable",
  final: "refused",
};

const LONGEST_RETRY_AFTER_MS = 60_000;
const DEFAULT_RETRY_AFTER_MS = 5_000;

/** What the caller is told when all attempts failed: 429 if all were busy, else 503. */
function verdict(failures: readonly Failure[]): Refusal {
  const told = failures.filter(({ retryAfterMs }) => retryAfterMs !== undefined)
    .map(({ retryAfterMs }) => retryAfterMs!);
  const retryAfterMs = Math.min(
    LONGEST_RETRY_AFTER_MS,
    told.length === 0 ? DEFAULT_RETRY_AFTER_MS : Math.min(...told),
  );
  const last = failures.at(-1);
  const busy = failures.length > 0 && failures.every(({ kind }) => kind === "busy");
  const worst = busy ? last : failures.findLast(({ kind }) => kind !== "busy");
  const refusal = worst?.refusal;
  const all = new Refusal(
    refusal?.reason ?? "upstream_unavailable",
    refusal?.message ?? "No upstream can answer now. Please try again.",
    { retryAfterMs, cause: refusal },
  );
  all.simulated = refusal?.simulated ?? false;
  return all;
}

/** Waits; false when the caller left meanwhile. */
function sleep(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (whole: boolean) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
      resolve(whole);
    };
    const leave = () => end(false);
    const timer = setTimeout(() => end(true), ms);
    signal.addEventListener("abort", leave, { once: true });
  });
}
