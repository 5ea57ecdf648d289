import { type CoarseTimers, following } from "../platform/mod.ts";
import type { ChunkedBody } from "../large_bodies/mod.ts";
import type { Target } from "../catalog/mod.ts";
import { Refusal } from "../refusal.ts";
import type { Log, Metrics, Trace } from "../telemetry/mod.ts";
import { CANCELLED, type Failure, failureOf, statusFailure } from "./failure.ts";
import { isSimulated } from "../simulator/mod.ts";
import type { Circuit, Pass } from "./circuit.ts";
import type { UpstreamKey } from "./key_pool.ts";
import {
  isResting,
  routed,
  type RoutedRequest,
  type Routing,
  type RoutingMemory,
  type TargetPlan,
} from "./routing.ts";
import { TransportFault, type UpstreamReply } from "./transport.ts";
import type { Upstream } from "./upstream.ts";
import { verdict, verdictOfKeys } from "./verdict.ts";

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

/** One exchange with one of several targets: what is sent, and how its reply is opened. */
export interface Exchange<Plan extends TargetPlan, Opened> {
  readonly routing: Routing<Plan>;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  readonly requestId: string;
  readonly trace: Trace;
  /** Maximum output of a reply that comes only when it is whole; 0 for a stream. */
  readonly unstreamedTokens: number;
  write(plan: Plan): {
    readonly path: string;
    readonly body: string | ChunkedBody;
    readonly headers: Readonly<Record<string, string>>;
  };
  /**
   * Reads a successful reply as far as is needed to know that it is one. What it throws counts as
   * a failed attempt.
   */
  open(
    reply: UpstreamReply,
    plan: Plan,
    options: { readonly canFailOver: boolean },
  ): Promise<Opened>;
}

/** One request that is sent to one target. */
interface Attempt<Plan extends TargetPlan> {
  readonly plan: Plan;
  readonly pass: Pass;
  /** Whether another target can be tried when this one keeps the request waiting. */
  readonly canFailOver: boolean;
  readonly tally: Tally;
}

/** One request that was sent, and what came of it. */
export interface AttemptOutcome {
  readonly upstream: string;
  readonly model: string;
  /** Name of the key that it was sent with, where the upstream has several. */
  readonly key: string | undefined;
  /** In words: `replied`, `status 503`, `timed out`. */
  readonly outcome: string;
  readonly durationMs: number;
}

/** Counts the requests that are sent. */
interface Tally {
  attempts: number;
  /** All of them, once one has failed: most requests need no list. */
  outcomes: AttemptOutcome[] | undefined;
}

/** What came of one request that was sent. */
type Result<Plan extends TargetPlan, Opened> =
  | { readonly failure: Failure }
  | Omit<Sent<Plan, Opened>, "attempts" | "outcomes">;

/** The attempt that got a reply. */
export interface Sent<Plan extends TargetPlan, Opened> {
  readonly opened: Opened;
  readonly reply: UpstreamReply;
  readonly plan: Plan;
  /** Attempts in all, this one included. */
  readonly attempts: number;
  /** Each of them; undefined if there was no other. */
  readonly outcomes: readonly AttemptOutcome[] | undefined;
}

/** Thrown when every attempt failed. */
export class ExchangeFailed extends Error {
  override readonly name = "ExchangeFailed";
  readonly refusal: Refusal;
  readonly attempts: number;
  readonly outcomes: readonly AttemptOutcome[];
  readonly last: Target | undefined;

  constructor(
    refusal: Refusal,
    { attempts, outcomes = [] }: {
      readonly attempts: number;
      readonly outcomes?: readonly AttemptOutcome[] | undefined;
    },
    last: Target | undefined,
  ) {
    super(refusal.message, { cause: refusal });
    this.refusal = refusal;
    this.attempts = attempts;
    this.outcomes = outcomes;
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
  /** Handed on when the upstreams are built again. */
  readonly memory: RoutingMemory;
}

/** All upstreams, and the order in which targets are tried. */
export class Upstreams {
  readonly #byName: ReadonlyMap<string, Upstream>;
  readonly #log: Log;
  readonly #metrics: Metrics;
  readonly #now: () => number;
  readonly #timers: CoarseTimers;
  readonly #retries: RetryPolicy;
  readonly #memory: RoutingMemory;

  constructor(
    upstreams: readonly Upstream[],
    { log, metrics, now, timers, retries = RETRY_POLICY, memory }: UpstreamsOptions,
  ) {
    this.#byName = new Map(upstreams.map((upstream) => [upstream.name, upstream]));
    this.#log = log;
    this.#metrics = metrics;
    this.#now = now;
    this.#timers = timers;
    this.#retries = retries;
    this.#memory = memory;
  }

  /** Whether at least one upstream is not resting. */
  get usable(): boolean {
    return [...this.#byName.values()].some(({ health }) => !health.resting);
  }

  get all(): readonly Upstream[] {
    return [...this.#byName.values()];
  }

  /** The upstream of a configured target. */
  of({ upstream }: Target): Upstream {
    return this.#byName.get(upstream)!;
  }

  /** Decides which targets a request is sent to. Taking a turn counts, so this is called once for each request. */
  route<Plan extends TargetPlan>(
    plans: readonly Plan[],
    request: RoutedRequest,
  ): Routing<Plan> {
    return routed(plans, request, this.#memory);
  }

  /**
   * Sends a request to one target after the other until one replies.
   *
   * Only what was not sent, and what was answered 429 or 5xx before the first byte, is sent again.
   *
   * @throws {ExchangeFailed} when none replies.
   */
  async send<Plan extends TargetPlan, Opened>(
    exchange: Exchange<Plan, Opened>,
  ): Promise<Sent<Plan, Opened>> {
    const failures: Failure[] = [];
    const { signal, routing } = exchange;
    const tally: Tally = { attempts: 0, outcomes: undefined };
    let order = reachable(routing.plans);
    let last: Target | undefined;
    for (let round = 0; order.length > 0 && round < this.#retries.attemptsPerTarget; round++) {
      if (
        round > 0 && !await sleep(this.#waitBefore(round, failures.slice(-order.length)), signal)
      ) {
        break;
      }
      const repeatable: Plan[] = [];
      for (const [at, plan] of order.entries()) {
        const circuit = circuitOf(plan);
        const isLast = at === order.length - 1;
        const isForced = isLast && repeatable.length === 0;
        if (!isForced && plan.upstream.keys?.resting) continue;
        // one that was closed a moment ago may be open by now
        const pass = isForced ? circuit.force() : circuit.pass();
        if (pass === undefined) continue;
        last = plan.target;
        const attempt = { plan, pass, canFailOver: !isLast, tally };
        const result = await this.#attempt(exchange, attempt);
        if (!("failure" in result)) {
          const { opened, reply } = result;
          return { opened, reply, plan, attempts: tally.attempts, outcomes: tally.outcomes };
        }
        const { failure } = result;
        failures.push(failure);
        // the gateway chose to probe, not the client: whatever comes of it, the other targets are tried
        const isEnd = failure.kind === "final" && !(pass.isProbe && failure.blame && !isLast);
        if (isEnd || signal.aborted) {
          throw new ExchangeFailed(failure.refusal, tally, plan.target);
        }
        if (this.#canRepeat(failure)) repeatable.push(plan);
      }
      order = repeatable;
    }
    throw new ExchangeFailed(verdict(failures), tally, last);
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    await Promise.all([...this.#byName.values()].map((upstream) => upstream.close()));
  }

  /** Tries a target, with one of its keys after the other where it has several. */
  async #attempt<Plan extends TargetPlan, Opened>(
    exchange: Exchange<Plan, Opened>,
    attempt: Attempt<Plan>,
  ): Promise<Result<Plan, Opened>> {
    const { plan: { upstream: { keys } }, pass } = attempt;
    let result: Result<Plan, Opened>;
    try {
      result = keys === undefined
        ? await this.#sendOnce(exchange, attempt, undefined)
        : await this.#withKeys(exchange, attempt);
    } catch (error) {
      pass.abandoned(); // a bug: the circuit must not wait for it
      throw error;
    }
    const failure = "failure" in result ? result.failure : undefined;
    if (failure === undefined) pass.succeeded();
    else if (failure.trips) pass.failed(failure.timedOut);
    else if (failure.status !== undefined) pass.succeeded(); // it rejected this request
    else pass.abandoned();
    return result;
  }

  async #withKeys<Plan extends TargetPlan, Opened>(
    exchange: Exchange<Plan, Opened>,
    attempt: Attempt<Plan>,
  ): Promise<Result<Plan, Opened>> {
    const { plan } = attempt;
    const walk = plan.upstream.keys!.begin(exchange.routing.keyAt(plan));
    const failures: Failure[] = [];
    try {
      for (let key = walk.next(); key !== undefined; key = walk.next()) {
        const result = await this.#sendOnce(exchange, attempt, key);
        const failure = "failure" in result ? result.failure : undefined;
        if (!walk.ended(failure) || failure === undefined) return result;
        failures.push(failure);
        if (exchange.signal.aborted) break;
      }
    } finally {
      walk.over();
    }
    return { failure: verdictOfKeys(failures) };
  }

  /** @param key The key to send it with; undefined at an upstream that has not several. */
  async #sendOnce<Plan extends TargetPlan, Opened>(
    exchange: Exchange<Plan, Opened>,
    attempt: Attempt<Plan>,
    key: UpstreamKey | undefined,
  ): Promise<Result<Plan, Opened>> {
    const { plan, tally } = attempt;
    const { name } = plan.upstream;
    const startedTick = performance.now();
    const stage = exchange.trace.begin("upstream", { "sluice.upstream": name }, "client");
    tally.attempts++;
    const result = await this.#exchange(exchange, attempt, {
      headers: key?.headers ?? plan.upstream.headers,
      traceparent: stage.traceparent,
    });
    const failure = "failure" in result ? result.failure : undefined;
    const outcome = failure === undefined
      ? "answered"
      : exchange.signal.aborted
      ? "cancelled"
      : OUTCOMES[failure.kind];
    const durationMs = performance.now() - startedTick;
    this.#metrics.attempt(name, outcome, durationMs / 1_000);
    const { activity } = plan.upstream.health;
    if (failure === undefined) activity.replied(durationMs);
    else activity.ended(failure.blame);
    if (failure !== undefined) tally.outcomes ??= [];
    tally.outcomes?.push({
      upstream: name,
      model: plan.target.model,
      key: key && plan.upstream.keys?.nameOf(key),
      outcome: failure?.outcome ?? "replied",
      durationMs: Math.round(durationMs),
    });
    if (key !== undefined) {
      this.#metrics.keyAttempt(name, String(key.position), failure?.ofKey ?? outcome);
    }
    stage.end({ "sluice.outcome": outcome }, failure);
    if (failure === undefined) exchange.routing.replied(plan, key);
    else this.#note(exchange, { plan, key, attempt: tally.attempts }, failure);
    return result;
  }

  async #exchange<Plan extends TargetPlan, Opened>(
    exchange: Exchange<Plan, Opened>,
    { plan, canFailOver }: Attempt<Plan>,
    { headers: ownHeaders, traceparent }: {
      readonly headers: Upstream["headers"];
      readonly traceparent: string | undefined;
    },
  ): Promise<Result<Plan, Opened>> {
    const { upstream } = plan;
    const startedTick = performance.now();
    const patience = canFailOver ? this.#patience(exchange, upstream) : undefined;
    try {
      const { path, body, headers } = exchange.write(plan);
      const sent: Record<string, string> = { ...headers, ...ownHeaders };
      if (traceparent !== undefined) sent.traceparent = traceparent;
      const reply = await upstream.send({
        path,
        body,
        headers: sent,
        signal: patience?.signal ?? exchange.signal,
      });
      if (reply.status < 200 || reply.status > 299) {
        patience?.end();
        const failure = await statusFailure(reply, upstream, this.#now());
        failure.refusal.simulated = isSimulated(reply);
        return { failure };
      }
      try {
        const opened = await exchange.open(reply, plan, { canFailOver });
        upstream.health.succeeded(Math.round(performance.now() - startedTick));
        return { opened, reply, plan };
      } catch (error) {
        reply.discard();
        throw error;
      }
    } catch (error) {
      const failure = failureOf(error, upstream);
      // what breaks off after the client or the gateway has given the request up is not the upstream's failure
      return {
        failure: exchange.signal.aborted
          ? { ...failure, outcome: CANCELLED, blame: false, trips: false }
          : failure,
      };
    } finally {
      patience?.end();
    }
  }

  /** Ends an attempt whose first output does not come in time, while another target can be tried. */
  #patience(
    { signal: clientSignal, unstreamedTokens }: Pick<
      Exchange<TargetPlan, unknown>,
      "signal" | "unstreamedTokens"
    >,
    { headersMs }: Upstream,
  ) {
    const { signal, abort } = following(clientSignal); // which goes on until the reply has ended
    const ms = headersMs * (1 + unstreamedTokens / UNSTREAMED_TOKENS);
    const end = this.#timers.after(ms, () => {
      abort(new TransportFault("no_reply", `no response within ${Math.round(ms)} ms`));
    });
    return { signal, end };
  }

  #note(
    { requestId }: Pick<Exchange<TargetPlan, unknown>, "requestId">,
    { plan: { target, upstream }, key, attempt }: {
      readonly plan: TargetPlan;
      readonly key: UpstreamKey | undefined;
      readonly attempt: number;
    },
    failure: Failure,
  ): void {
    const keyName = key && upstream.keys?.nameOf(key);
    if (!failure.blame) {
      if (failure.status !== undefined) upstream.health.responded();
    } else {
      const { detail } = failure;
      upstream.health.failed(keyName === undefined ? detail : `${keyName}: ${detail}`);
    }
    this.#log.warn("upstream attempt failed", {
      id: requestId,
      upstream: target.upstream,
      key: keyName,
      model: target.model,
      attempt,
      detail: failure.detail,
    });
  }

  /** Whether the same target may be tried again soon. */
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

function circuitOf({ target, upstream }: TargetPlan): Circuit {
  return upstream.health.circuit(target.model);
}

/** Targets in the order of failover, without those that fail; all, if all do. */
function reachable<Plan extends TargetPlan>(plans: readonly Plan[]): readonly Plan[] {
  const healthy = plans.filter((plan) => !isResting(plan));
  return healthy.length === 0 ? plans : healthy;
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

/** Waits. Resolves with false when the client disconnects meanwhile. */
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
