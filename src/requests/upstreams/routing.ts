import type { Route, Target } from "../../settings/catalog/mod.ts";
import type { ConversationIdentity } from "../../wire/dialects/mod.ts";
import type { Affinity, Place } from "./affinity.ts";
import type { KeyPool, UpstreamKey } from "./key_pool.ts";
import type { OwnKey } from "./own_key.ts";
import type { RoutingMemory } from "./routing_memory.ts";
import type { Turns } from "./turns.ts";
import type { Upstream } from "./upstream.ts";

/** A target that can serve a request. */
export interface TargetPlan {
  readonly target: Target;
  readonly upstream: Upstream;
  /** The caller's own key that it is sent with; undefined for the gateway's. */
  readonly ownKey?: OwnKey | undefined;
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
    const isOwn = plan.ownKey !== undefined;
    if (!isOwn && this.#note === undefined) return;
    this.plans = first(this.plans, plan);
    if (isOwn) return;
    this.#last = placeOf(plan, key);
    this.#note?.(plan, key);
  }
}

/** A request that is to be routed. */
export interface RoutedRequest {
  readonly route: Pick<Route, "id">;
  /** Identifies the conversation; called only where that matters. Undefined if the request is not part of one. */
  readonly conversation: (() => ConversationIdentity) | undefined;
}

/**
 * Decides the order in which a request's targets are tried: the one that answered the conversation last if it is healthy;
 * else the one whose turn it is by weight, then the others by weight, then those without weight as they are listed.
 *
 * Plans with keys of the caller's own keep their places before or after the others, and nothing of them is remembered.
 *
 * A request with one target and one key costs nothing here.
 */
export function routed<Plan extends TargetPlan>(
  plans: readonly Plan[],
  { route, conversation }: RoutedRequest,
  memory: RoutingMemory,
): Routing<Plan> {
  if (plans.some(({ ownKey }) => ownKey !== undefined)) {
    return withOwn(plans, { route, conversation }, memory);
  }
  const isShared = plans.some(({ target }) => (target.weight ?? 0) > 0);
  const hasKeys = plans.some(({ upstream }) => upstream.keys !== undefined);
  if (plans.length === 1 && !hasKeys) return new Routing(plans);
  const shareOut = () => isShared ? byTurn(plans, memory.turnsOfRoute(route.id)) : plans;
  if (conversation === undefined) return new Routing(shareOut());
  const { affinity } = memory;
  // in plain failover order, a conversation is remembered only while it is away from the first target
  const remembersAll = hasKeys || isShared;
  let identified: ConversationIdentity | undefined;
  const identify = () => identified ??= conversation();
  const last = affinity.knows(route.id) ? lastPlace(identify(), affinity) : undefined;
  const sticky = last && plans.find((plan) => isPlace(plan, last) && !isResting(plan));
  const order = sticky !== undefined ? first(plans, sticky) : shareOut();
  return new Routing(order, sticky && last, (plan, key) => {
    if (remembersAll || plan !== plans[0]) {
      affinity.remember(identify().id, route.id, placeOf(plan, key));
    } else if (affinity.knows(route.id)) affinity.forget(identify().id);
  });
}

function withOwn<Plan extends TargetPlan>(
  plans: readonly Plan[],
  request: RoutedRequest,
  memory: RoutingMemory,
): Routing<Plan> {
  const own = plans.filter(({ ownKey }) => ownKey !== undefined);
  const shared = plans.filter(({ ownKey }) => ownKey === undefined);
  const routing = routed(shared, request, memory);
  const isFirst = plans[0]!.ownKey !== undefined;
  routing.plans = isFirst ? [...own, ...routing.plans] : [...routing.plans, ...own];
  return routing;
}

/** Whether a target is left alone while others can be tried. */
export function isResting(plan: TargetPlan): boolean {
  const { target, upstream, ownKey } = plan;
  const keysRest = keysOfPlan(plan)?.resting ?? false;
  return keysRest || ownKey === undefined && upstream.health.circuit(target.model).isOpen;
}

/** The keys that a plan is sent with in turn; undefined if its upstream has one or none. */
export function keysOfPlan({ upstream, ownKey }: TargetPlan): KeyPool | undefined {
  return ownKey?.keys ?? upstream.keys;
}

function lastPlace({ id, begins }: ConversationIdentity, affinity: Affinity): Place | undefined {
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
