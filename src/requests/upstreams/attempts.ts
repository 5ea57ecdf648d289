import type { AttemptRecord } from "../../money/ledger/mod.ts";
import { type CoarseTimers, following } from "../../ground/platform/mod.ts";
import type { ChunkedBody } from "../../wire/large_bodies/mod.ts";
import type { Log, Metrics, Trace } from "../../ground/telemetry/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import { CANCELLED, type Failure, failureOf, statusFailure } from "./failure.ts";
import { isSimulated } from "../simulator/mod.ts";
import {
  allTurns,
  type Bound,
  outOfTurn,
  takeAll,
  type Turn,
  UNBOUNDED,
  untilEnd,
} from "./bound.ts";
import type { Pass } from "./circuit.ts";
import type { KeyPool, UpstreamKey } from "./key_pool.ts";
import { keysOfPlan, type Routing, type TargetPlan } from "./routing.ts";
import { TransportFault, type UpstreamReply } from "./transport.ts";
import type { Upstream } from "./upstream.ts";
import { verdictOfKeys } from "./verdict.ts";

/** One exchange with one of several targets: what is sent, and how its reply is opened. */
export interface Exchange<Plan extends TargetPlan, Opened> {
  readonly routing: Routing<Plan>;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  readonly requestId: string;
  /** ID of the account that the request is for. */
  readonly account: string;
  readonly trace: Trace;
  /** Maximum output of a reply that comes only when it is whole; 0 for a stream. */
  readonly unstreamedTokens: number;
  /** Tokens of its input and of the output that is permitted. */
  readonly tokens: number;
  /** @param key The key that it is sent with; undefined at an upstream that has not several. */
  write(plan: Plan, key: UpstreamKey | undefined): {
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
    options: { readonly canFailOver: boolean; readonly key: UpstreamKey | undefined },
  ): Promise<Opened>;
}

/** One request that is sent to one target. */
export interface Attempt<Plan extends TargetPlan> {
  readonly plan: Plan;
  readonly pass: Pass;
  /** Whether another target can be tried when this one keeps the request waiting. */
  readonly canFailOver: boolean;
  readonly tally: Tally;
}

/** Counts the requests that are sent. */
export interface Tally {
  attempts: number;
  /** All of them, once one has failed: most requests need no list. */
  outcomes: AttemptRecord[] | undefined;
}

/** What came of one request that was sent. */
export type Result<Plan extends TargetPlan, Opened> =
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
  readonly outcomes: readonly AttemptRecord[] | undefined;
}

/** What attempts need from outside. */
export interface AttemptsOptions {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly now: () => number;
  readonly timers: CoarseTimers;
}

/** Sends requests to single targets, and notes what comes of them. */
export class Attempts {
  readonly #log: Log;
  readonly #metrics: Metrics;
  readonly #now: () => number;
  readonly #timers: CoarseTimers;

  constructor({ log, metrics, now, timers }: AttemptsOptions) {
    this.#log = log;
    this.#metrics = metrics;
    this.#now = now;
    this.#timers = timers;
  }

  /**
   * Tries a target, with one of its keys after the other where it has several, and tells its circuit what came of it.
   *
   * @returns The opened reply, or why there is none.
   */
  async attempt<Plan extends TargetPlan, Opened>(
    exchange: Exchange<Plan, Opened>,
    attempt: Attempt<Plan>,
  ): Promise<Result<Plan, Opened>> {
    const { plan, pass } = attempt;
    const keys = keysOfPlan(plan);
    const bounds = boundsOf(plan);
    let result: Result<Plan, Opened>;
    try {
      const send = (turn: Turn) =>
        keys === undefined
          ? this.#sendOnce(exchange, attempt, undefined, turn)
          : this.#withKeys(exchange, attempt, keys, turn);
      if (bounds.length === 0) result = await send(UNBOUNDED);
      else result = await this.#inTurn(exchange, attempt, bounds, send);
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
    keys: KeyPool,
    turn: Turn,
  ): Promise<Result<Plan, Opened>> {
    const { plan } = attempt;
    const walk = keys.begin(exchange.routing.keyAt(plan));
    const failures: Failure[] = [];
    try {
      for (let key = walk.next(); key !== undefined; key = walk.next()) {
        const result = key.bound === undefined
          ? await this.#sendOnce(exchange, attempt, key, turn)
          : await this.#inTurn(
            exchange,
            attempt,
            [key.bound],
            (ofKey) => this.#sendOnce(exchange, attempt, key, allTurns([ofKey, turn])),
          );
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

  /** Sends a request when its turn has come; what fails or has no reply gives its place back at once. */
  async #inTurn<Plan extends TargetPlan, Opened>(
    exchange: Exchange<Plan, Opened>,
    { plan, tally }: Attempt<Plan>,
    bounds: readonly Bound[],
    send: (turn: Turn) => Promise<Result<Plan, Opened>>,
  ): Promise<Result<Plan, Opened>> {
    let turn: Turn;
    try {
      turn = await takeAll(bounds, exchange);
    } catch (error) {
      if (exchange.signal.aborted) {
        const left = new TransportFault("left", "the caller left", { cause: error });
        return { failure: failureOf(left, plan.upstream) };
      }
      if (!(error instanceof Refusal)) throw error;
      const failure = outOfTurn(error);
      (tally.outcomes ??= []).push({
        upstream: plan.upstream.name,
        model: plan.target.model,
        key: undefined,
        outcome: failure.outcome,
        durationMs: 0,
      });
      return { failure };
    }
    try {
      const result = await send(turn);
      if ("failure" in result) {
        turn.end();
        // it used no tokens, and a caller that sends what is rejected must not take those of others
        if (hasGeneratedNothing(result.failure)) turn.used(0);
      }
      return result;
    } catch (error) {
      turn.end();
      throw error;
    }
  }

  /**
   * @param key The key to send it with; undefined at an upstream that has not several.
   * @param turn Ends with the reply.
   */
  async #sendOnce<Plan extends TargetPlan, Opened>(
    exchange: Exchange<Plan, Opened>,
    attempt: Attempt<Plan>,
    key: UpstreamKey | undefined,
    turn: Turn,
  ): Promise<Result<Plan, Opened>> {
    const { plan, tally } = attempt;
    const { name } = plan.upstream;
    const startedTick = performance.now();
    const stage = exchange.trace.begin("upstream", { "sluice.upstream": name }, "client");
    tally.attempts++;
    const result = await this.#exchange(exchange, attempt, {
      key,
      traceparent: stage.traceparent,
      turn,
    });
    const failure = "failure" in result ? result.failure : undefined;
    const keyName = key && keysOfPlan(plan)?.nameOf(key);
    const outcome = failure === undefined
      ? "answered"
      : exchange.signal.aborted
      ? "cancelled"
      : OUTCOMES[failure.kind];
    const durationMs = performance.now() - startedTick;
    this.#metrics.attempt(name, outcome, durationMs / 1_000);
    const { health } = plan.upstream;
    const isOurs = plan.ownKey === undefined;
    if (failure === undefined) {
      health.activity.replied(durationMs);
      if (isOurs) health.succeeded(Math.round(durationMs));
    } else health.activity.ended(failure.blame && isOurs);
    if (failure !== undefined) tally.outcomes ??= [];
    tally.outcomes?.push({
      upstream: name,
      model: plan.target.model,
      key: keyName,
      outcome: failure?.outcome ?? "replied",
      durationMs: Math.round(durationMs),
    });
    if (key !== undefined) {
      const label = plan.ownKey === undefined ? String(key.position) : "own";
      this.#metrics.keyAttempt(name, label, failure?.ofKey ?? outcome);
    }
    stage.end({ "sluice.outcome": outcome }, failure);
    if (failure === undefined) exchange.routing.replied(plan, key);
    else this.#note(exchange, { plan, keyName, attempt: tally.attempts }, failure);
    return result;
  }

  async #exchange<Plan extends TargetPlan, Opened>(
    exchange: Exchange<Plan, Opened>,
    { plan, canFailOver }: Attempt<Plan>,
    { key, traceparent, turn }: {
      readonly key: UpstreamKey | undefined;
      readonly traceparent: string | undefined;
      readonly turn: Turn;
    },
  ): Promise<Result<Plan, Opened>> {
    const { upstream, ownKey } = plan;
    const patience = canFailOver ? this.#patience(exchange, upstream) : undefined;
    const failing = ownKey === undefined
      ? upstream
      : { redact: (text: string) => ownKey.redact(upstream.redact(text)) };
    try {
      const { path, body, headers } = exchange.write(plan, key);
      const sent: Record<string, string> = { ...headers, ...(key ?? upstream).headers };
      if (traceparent !== undefined) sent.traceparent = traceparent;
      const reply = await upstream.send({
        path,
        body,
        headers: sent,
        signal: patience?.signal ?? exchange.signal,
        account: exchange.account,
      });
      if (reply.status > 299) {
        patience?.end();
        const failure = await statusFailure(reply, failing, this.#now());
        failure.refusal.simulated = isSimulated(reply);
        return { failure: ownKey === undefined ? failure : ofOwnKey(failure, upstream.name) };
      }
      try {
        const kept = turn === UNBOUNDED ? reply : untilEnd(reply, turn);
        const opened = await exchange.open(kept, plan, { canFailOver, key });
        return { opened, reply: kept, plan };
      } catch (error) {
        reply.discard();
        throw error;
      }
    } catch (error) {
      const failure = failureOf(error, failing);
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
    { plan: { target, upstream, ownKey }, keyName, attempt }: {
      readonly plan: TargetPlan;
      readonly keyName: string | undefined;
      readonly attempt: number;
    },
    failure: Failure,
  ): void {
    if (ownKey !== undefined) {
      // it says nothing of the upstream to those who have other keys
    } else if (!failure.blame) {
      if (failure.status !== undefined) upstream.health.responded();
    } else {
      const { words } = failure;
      upstream.health.failed(keyName === undefined ? words : `${keyName}: ${words}`);
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
}

/** What bounds a request's way to a target. Keys of the caller's own have their owners' bounds. */
function boundsOf({ target, upstream, ownKey }: TargetPlan): readonly Bound[] {
  if (ownKey !== undefined) return [];
  const ofTarget = target.limits === undefined ? undefined : upstream.boundOf(target);
  return ofTarget === undefined ? upstream.bounds : [...upstream.bounds, ofTarget];
}

/** Whether an upstream has certainly done nothing for a request: it was not sent, or an error came instead of a reply. */
function hasGeneratedNothing({ kind, status }: Failure): boolean {
  return status !== undefined || kind === "again" || kind === "busy";
}

/** A failure that the caller's own key explains, in words for who can set another. */
function ofOwnKey(failure: Failure, upstream: string): Failure {
  const { ofKey, outcome } = failure;
  if (ofKey === undefined || ofKey === "limited") return failure;
  const message =
    `The upstream ${upstream} does not accept the key of your own that the request was sent with: ${outcome}. ` +
    "Check the key with the provider, or set another.";
  return { ...failure, refusal: new Refusal("permission_denied", message) };
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
