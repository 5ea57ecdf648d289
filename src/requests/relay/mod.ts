/**
 * The story of one request: from a parsed body to a reply that settles itself. Read `relay.ts`.
 *
 * Promise: a rejected request costs nothing; the status is decided before the first byte; the last byte of a complete
 * reply is sent after its charge is committed (P5); memory per stream does not grow (P15).
 * Leaves to others: who the caller is (`accounts/`), what goes over which socket (`upstreams/`).
 *
 * @module
 */

export { type EstimateNews, InputEstimates } from "./input_estimates.ts";
export { FollowedReplies } from "./followed_replies.ts";
export { embed } from "./embed.ts";
export { relay } from "./relay.ts";
export type { DisconnectWatcher } from "./lifecycle.ts";
export type { EmbedRequest, RelayParts, RelayReply } from "./request.ts";
export { type InFlightRequest, InFlightRequests } from "./in_flight_requests.ts";
