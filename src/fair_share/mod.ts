/**
 * Sharing what is scarce: memory for large bodies, image fetches, worker time, open requests.
 *
 * Promise: one account never takes all of a resource; accounts that wait are served in turn; no wait
 * outlives its deadline or its caller.
 * Leaves to others: what the units are, and how many there are.
 *
 * @module
 */

export { FairShare, type FairShareOptions, type Share } from "./fair_share.ts";
export { RoundRobin } from "./round_robin.ts";
