import type { BackName } from "../../wire/dialects/mod.ts";
import { type ActivityState, sumOfActivity } from "./activity.ts";
import type { Health, HealthState } from "./health.ts";
import type { Upstream } from "./upstream.ts";

/** How an upstream has been doing, as plain data. */
export interface UpstreamState
  extends Pick<Health, "failingModels" | "lastFailure" | "lastLatencyMs" | "lastOutcomeAtMs"> {
  readonly name: string;
  readonly dialect: BackName;
  readonly state: HealthState;
  /** Whether it is in cooldown. */
  readonly resting: boolean;
  /** Its keys if it has several: how many, and the places of those that are in cooldown. */
  readonly keys: { readonly count: number; readonly resting: readonly number[] } | undefined;
  /** What became of what it was sent in the last hour. */
  readonly activity: ActivityState;
}

/** Reads the state of an upstream. */
export function stateOf({ name, dialect, health, keys }: Upstream): UpstreamState {
  const { state, resting, failingModels, lastFailure, lastLatencyMs, lastOutcomeAtMs } = health;
  return {
    name,
    dialect,
    state,
    resting,
    failingModels,
    lastFailure,
    lastLatencyMs,
    lastOutcomeAtMs,
    keys: keys && {
      count: keys.all.length,
      resting: keys.all.filter(({ health }) => health.resting).map(({ position }) => position),
    },
    activity: health.activity.state,
  };
}

/**
 * Merges what the threads of a process know of the upstreams, each of which has experiences of its own: the latest outcome
 * and failure count, and what one of them has put to rest is shown as resting.
 *
 * @param threads The states of all upstreams, by thread.
 * @returns One state of each upstream, in the order of the first thread.
 */
export function mergedStates(threads: readonly (readonly UpstreamState[])[]): UpstreamState[] {
  const [own = [], ...others] = threads;
  return own.map((one) =>
    others.flatMap((states) => states.filter(({ name }) => name === one.name))
      .reduce(mergedState, one)
  );
}

function mergedState(one: UpstreamState, other: UpstreamState): UpstreamState {
  const latest = other.lastOutcomeAtMs > one.lastOutcomeAtMs ? other : one;
  const failed = (other.lastFailure?.atMs ?? 0) > (one.lastFailure?.atMs ?? 0) ? other : one;
  return {
    ...one,
    state: latest.state,
    lastLatencyMs: latest.lastLatencyMs ?? one.lastLatencyMs ?? other.lastLatencyMs,
    lastOutcomeAtMs: latest.lastOutcomeAtMs,
    lastFailure: failed.lastFailure,
    resting: one.resting || other.resting,
    failingModels: [...new Set([...one.failingModels, ...other.failingModels])],
    keys: one.keys && {
      ...one.keys,
      resting: [...new Set([...one.keys.resting, ...other.keys?.resting ?? []])].toSorted((a, b) =>
        a - b
      ),
    },
    activity: sumOfActivity(one.activity, other.activity),
  };
}
