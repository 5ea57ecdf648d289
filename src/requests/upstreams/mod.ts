/**
 * Upstreams: one attempt, failover, health; and the built-in simulated one.
 *
 * Promise: an upstream sees a request twice only when our retry policy sent it twice, and the log
 * says so; after the first byte of an answer nothing is repeated; an upstream's key, address and
 * headers reach no caller. Leaves to others: what bodies mean (`dialects/`).
 *
 * @module
 */

export { type ActivityState, hourOf } from "./activity.ts";
export type { AffinityNews } from "./affinity.ts";
export { type Discovered, discoverUpstreams } from "./discover.ts";
export { LOCAL_SERVERS } from "./presets.ts";
export { keptListings, ModelLists } from "./model_lists.ts";
export { type ListsNews, ReceivedModelLists, type UpstreamModels } from "./received_model_lists.ts";
export { type Probe, probeOwnKey, probeUpstream } from "./probe.ts";
export { checksKeys, KEY_REJECTED, type TrialResult, tryUpstream } from "./trial.ts";
export { isSimulated, SIMULATED_HEADER, simulateHttp } from "../simulator/mod.ts";
export { readyBytes } from "./ready_bytes.ts";
export { type ReadyBytes, TransportFault, type UpstreamReply, type Waiter } from "./transport.ts";
export type { Routing, TargetPlan } from "./routing.ts";
export { RoutingMemory } from "./routing_memory.ts";
export {
  configuredUpstreams,
  httpUpstream,
  keysOf,
  simulatorUpstream,
  takesKeys,
  type Upstream,
} from "./upstream.ts";
export { mergedStates, stateOf, type UpstreamState } from "./upstream_state.ts";
export type { Sent } from "./attempts.ts";
export type { OwnKey } from "./own_key.ts";
export type { UpstreamKey } from "./key_pool.ts";
export { FORWARDED_KEY_HEADER, type OwnKeyCaller, type OwnKeyPlan, OwnKeys } from "./own_keys.ts";
export { Promised } from "./promised.ts";
export type { RetryPolicy } from "./retry_policy.ts";
export { ExchangeFailed, Upstreams, type UpstreamsOptions } from "./upstreams.ts";
