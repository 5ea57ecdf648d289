/**
 * Upstreams: one attempt, failover, health; and the built-in simulated one.
 *
 * Promise: an upstream sees a request twice only when our retry policy sent it twice, and the log
 * says so; after the first byte of an answer nothing is repeated; an upstream's key, address and
 * headers reach no caller. Leaves to others: what bodies mean (`dialects/`).
 *
 * @module
 */

export { retryAfter } from "./failure.ts";
export { SIMULATED_HEADER, simulateHttp } from "./simulator/mod.ts";
export {
  type Transport,
  TransportFault,
  type UpstreamReply,
  type UpstreamRequest,
} from "./transport.ts";
export {
  defaultUpstreamSettings,
  httpUpstream,
  simulatorUpstream,
  type Upstream,
} from "./upstream.ts";
export {
  type Call,
  type Called,
  CallFailed,
  RETRY_POLICY,
  type RetryPolicy,
  Upstreams,
  type UpstreamsOptions,
} from "./upstreams.ts";
