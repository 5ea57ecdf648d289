import type { SentBounds } from "../../settings/catalog/mod.ts";
import { Activity } from "./activity.ts";
import type { CoarseTimers } from "../../ground/platform/mod.ts";
import { Affinity } from "./affinity.ts";
import { Bound } from "./bound.ts";
import { KeyHealth } from "./key_health.ts";
import { Turns } from "./turns.ts";

/** Own keys that are remembered; the oldest are forgotten. */
const MAX_OWN_KEYS = 10_000;

/**
 * What the choice of targets and keys remembers. It is kept when the settings are read again: its parts are found by the
 * names of routes and upstreams, and by hashes of keys.
 */
export class RoutingMemory {
  readonly affinity: Affinity;
  readonly #now: () => number;
  readonly #turns = new Map<string, Turns>();
  readonly #keys = new Map<string, KeyHealth>();
  readonly #ownKeys = new Map<string, KeyHealth>();
  readonly #activities = new Map<string, Activity>();
  readonly #bounds = new Map<string, Bound>();

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

  /** How a key of an account's or a team's own has been doing. */
  ownKeyHealth(id: string): KeyHealth {
    if (!this.#ownKeys.has(id) && this.#ownKeys.size >= MAX_OWN_KEYS) {
      this.#ownKeys.delete(this.#ownKeys.keys().next().value!);
    }
    return known(this.#ownKeys, id, () => new KeyHealth(this.#now));
  }

  /**
   * What bounds an upstream, one of its keys or a target there; undefined if nothing does.
   *
   * @param upstream Its name.
   * @param place What tells it from the upstream's other bounds.
   * @param bounds As the settings say now.
   */
  boundOf(
    upstream: string,
    place: string,
    bounds: SentBounds | undefined,
    timers: CoarseTimers,
  ): Bound | undefined {
    const name = `${upstream} ${place}`;
    if (bounds === undefined && !this.#bounds.has(name)) return undefined;
    return known(this.#bounds, name, () => new Bound(upstream, timers))
      .set(bounds ?? { waitMs: 0 });
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
