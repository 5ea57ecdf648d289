import type { AttemptRecord } from "../../money/ledger/mod.ts";
import type { Target } from "../../settings/catalog/mod.ts";
import type { Refusal } from "../../ground/refusal.ts";
import {
  Attempts,
  type AttemptsOptions,
  type Exchange,
  type Sent,
  type Tally,
} from "./attempts.ts";
import type { Pass } from "./circuit.ts";
import type { Failure } from "./failure.ts";
import { canRepeat, RETRY_POLICY, type RetryPolicy, sleep, waitBefore } from "./retry_policy.ts";
import {
  isResting,
  keysOfPlan,
  routed,
  type RoutedRequest,
  type Routing,
  type TargetPlan,
} from "./routing.ts";
import type { RoutingMemory } from "./routing_memory.ts";
import type { Upstream } from "./upstream.ts";
import { verdict } from "./verdict.ts";

/** Thrown when every attempt failed. */
export class ExchangeFailed extends Error {
  override readonly name = "ExchangeFailed";
  readonly refusal: Refusal;
  readonly attempts: number;
  readonly outcomes: readonly AttemptRecord[];
  readonly last: Target | undefined;

  constructor(
    refusal: Refusal,
    { attempts, outcomes = [] }: {
      readonly attempts: number;
      readonly outcomes?: readonly AttemptRecord[] | undefined;
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
export interface UpstreamsOptions extends AttemptsOptions {
  readonly retries?: RetryPolicy;
  /** Handed on when the upstreams are built again. */
  readonly memory: RoutingMemory;
  /** Number of serving threads, which share what may be sent. */
  readonly threads?: number | undefined;
}

/** All upstreams, and the order in which targets are tried. */
export class Upstreams {
  readonly #byName: ReadonlyMap<string, Upstream>;
  readonly #attempts: Attempts;
  readonly #retries: RetryPolicy;
  readonly #memory: RoutingMemory;

  constructor(
    upstreams: readonly Upstream[],
    { retries = RETRY_POLICY, memory, ...options }: UpstreamsOptions,
  ) {
    this.#byName = new Map(upstreams.map((upstream) => [upstream.name, upstream]));
    this.#attempts = new Attempts(options);
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
        round > 0 &&
        !await sleep(waitBefore(round, failures.slice(-order.length), this.#retries), signal)
      ) {
        break;
      }
      const repeatable: Plan[] = [];
      const end = order.at(-1);
      for (const plan of order) {
        const isLast = plan === end;
        const isForced = isLast && repeatable.length === 0;
        if (!isForced && keysOfPlan(plan)?.resting) continue;
        // one that was closed a moment ago may be open by now
        const pass = passOf(plan, isForced);
        if (pass === undefined) continue;
        last = plan.target;
        const attempt = { plan, pass, canFailOver: !isLast, tally };
        const result = await this.#attempts.attempt(exchange, attempt);
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
        if (canRepeat(failure, this.#retries)) repeatable.push(plan);
      }
      order = repeatable;
    }
    throw new ExchangeFailed(verdict(failures), tally, last);
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    await Promise.all([...this.#byName.values()].map((upstream) => upstream.close()));
  }
}

/** Leave to send a request; undefined if its target rests. What comes of somebody's own key says nothing of the target. */
function passOf({ target, upstream, ownKey }: TargetPlan, isForced: boolean): Pass | undefined {
  if (ownKey !== undefined) return OWN_PASS;
  const circuit = upstream.health.circuit(target.model);
  return isForced ? circuit.force() : circuit.pass();
}

const OWN_PASS: Pass = {
  isProbe: false,
  succeeded: () => {},
  failed: () => {},
  abandoned: () => {},
};

/** Targets in the order of failover, without those that fail; all, if all do. */
function reachable<Plan extends TargetPlan>(plans: readonly Plan[]): readonly Plan[] {
  if (!plans.some(isResting)) return plans;
  const healthy = plans.filter((plan) => !isResting(plan));
  return healthy.length === 0 ? plans : healthy;
}
