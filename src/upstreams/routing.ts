import type { Route, Target } from "../catalog/mod.ts";
import { Activity } from "./activity.ts";
import { Affinity, type Place } from "./affinity.ts";
import { KeyHealth } from "./key_health.ts";
import type { UpstreamKey } from "./key_pool.ts";
import { Turns } from "./turns.ts";
import type { Upstream } from "./upstream.ts";

/** A target that can serve a request. */
export interface TargetPlan {
  readonly target: Target;
  readonly upstream: Upstream;
}

/** What a conversation is recognized by. */
export interface Conversation {
  /** A hash, different for each account and route. */
  readonly id: string;
  /** Whether the request may begin it: then nothing of it can be in a prompt cache yet. */
  readonly begins: boolean;
}

/**
 * What the choice of targets and keys remembers. It is kept when the settings are read again: its parts are found by the
 * names of routes and upstreams, and by hashes of keys.
 */
export class RoutingMemory {
  readonly affinity: Affinity;
  readonly #now: () => number;
  readonly #turns = new Map<string, Turns>();
  readonly #keys = new Map<string, KeyHealth>();
  readonly #activities = new Map<string, Activity>();

  constructor(now: () => number) {
    this.#now = now;
    this.affinity = new Affinity(now);
  }

  /** Turns of a route's targets. */
  turnsOfRoute(id: string): Turns {
    return known(this.#turns, `route ${id}`, () => new Turns());
  }

  /** Turns of an upstream's keys. */
  turnsOfKeys(upstream: string): Turns {
    return known(this.#turns, `keys ${upstream}`, () => new Turns());
  }

  /** How a key has been doing. */
  keyHealth(upstream: string, keyId: string): KeyHealth {
    return known(this.#keys, `${upstream} ${keyId}`, () => new KeyHealth(this.#now));
  }

  /** What became of what an upstream was sent in the last hour. */
  activityOf(upstream: string): Activity {
    return known(this.#activities, upstream, () => new Activity(this.#now));
  }
}

function known<Value>(all: Map<string, Value>, name: string, make: () => Value): Value {
  let one = all.get(name);
  if (one === undefined) all.set(name, one = make());
  return one;
}

/** Which targets a request is sent to, and with which key. */
export class Routing<Plan extends TargetPlan> {
  /** In the order in which they are tried. */
  plans: readonly Plan[];
  readonly #note: ((plan: Plan, key: UpstreamKey | undefined) => void) | undefined;
  #last: Place | undefined;

  /**
   * @param plans In the order in which they are tried.
   * @param last Where the conversation was answered last.
   * @param note Called with what replied.
   */
  constructor(
    plans: readonly Plan[],
    last?: Place,
    note?: (plan: Plan, key: UpstreamKey | undefined) => void,
  ) {
    this.plans = plans;
    this.#last = last;
    this.#note = note;
  }

  /** The key that the conversation used last at an upstream, by its hash. */
  keyAt({ upstream: { name } }: Plan): string | undefined {
    return this.#last?.upstream === name ? this.#last.keyId : undefined;
  }

  /** Notes what replied: the request's other exchanges and the conversation's next requests go there first. */
  replied(plan: Plan, key: UpstreamKey | undefined): void {
    if (this.#note === undefined) return;
    this.#last = placeOf(plan, key);
    this.plans = first(this.plans, plan);
    this.#note(plan, key);
  }
}

/** A request that is to be routed. */
export interface RoutedRequest {
  readonly route: Pick<Route, "id">;
  /** Identifies the conversation; called only where that matters. Undefined if the request is not part of one. */
  readonly conversation: (() => Conversation) | undefined;
}

/**
 * Decides the order in which a request's targets are tried: the one that answered the conversation last if it is healthy;
 * else the one whose turn it is by weight, then the others by weight, then those without weight as they are listed.
 *
 * A request with one target and one key costs nothing here.
 */
export function routed<Plan extends TargetPlan>(
  plans: readonly Plan[],
  { route, conversation }: RoutedRequest,
  memory: RoutingMemory,
): Routing<Plan> {
  const isShared = plans.some(({ target }) => (target.weight ?? 0) > 0);
  const hasKeys = plans.some(({ upstream }) => upstream.keys !== undefined);
  if (plans.length === 1 && !hasKeys) return new Routing(plans);
  const shareOut = () =>
    isShared && plans.length > 1 ? byTurn(plans, memory.turnsOfRoute(route.id)) : plans;
  if (conversation === undefined) return new Routing(shareOut());
  const { affinity } = memory;
  // in plain failover order, a conversation is remembered only while it is away from the first target
  const remembersAll = hasKeys || isShared && plans.length > 1;
  let identified: Conversation | undefined;
  const identify = () => identified ??= conversation();
  const last = remembersAll || affinity.knows(route.id)
    ? lastPlace(identify(), affinity)
    : undefined;
  const sticky = last && plans.find((plan) => isPlace(plan, last) && !isResting(plan));
  const order = sticky !== undefined ? first(plans, sticky) : shareOut();
  return new Routing(order, sticky && last, (plan, key) => {
    if (remembersAll || plan !== plans[0]) {
      affinity.remember(identify().id, route.id, placeOf(plan, key));
    } else if (affinity.knows(route.id)) affinity.forget(identify().id);
  });
}

/** Whether a target is left alone while others can be tried. */
export function isResting({ target, upstream }: TargetPlan): boolean {
  return upstream.health.circuit(target.model).isOpen || (upstream.keys?.resting ?? false);
}

function lastPlace({ id, begins }: Conversation, affinity: Affinity): Place | undefined {
  return begins ? undefined : affinity.placeOf(id);
}

function byTurn<Plan extends TargetPlan>(plans: readonly Plan[], turns: Turns): readonly Plan[] {
  const takers = plans.map((plan) => ({
    plan,
    id: `${plan.target.upstream} ${plan.target.model}`,
    weight: plan.target.weight ?? 0,
  }));
  const byWeight = takers.toSorted((a, b) => b.weight - a.weight); // stable: equals stay as listed
  const shared = byWeight.filter(({ weight }) => weight > 0);
  const healthy = shared.filter(({ plan }) => !isResting(plan));
  const chosen = turns.next(healthy.length === 0 ? shared : healthy)!;
  return first(byWeight.map(({ plan }) => plan), chosen.plan);
}

function isPlace({ target }: TargetPlan, { upstream, model }: Place): boolean {
  return target.upstream === upstream && target.model === model;
}

function placeOf({ target }: TargetPlan, key: UpstreamKey | undefined): Place {
  return { upstream: target.upstream, model: target.model, keyId: key?.id };
}

function first<Plan>(plans: readonly Plan[], one: Plan): readonly Plan[] {
  return plans[0] === one ? plans : [one, ...plans.filter((plan) => plan !== one)];
}
