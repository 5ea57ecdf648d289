/**
 * Shares scarce resources fairly between accounts: memory for large bodies, image downloads, worker time,
 * in-flight requests.
 *
 * Promise: no account takes all of a resource (P15); waiting accounts are served in turn; no wait outlives its deadline
 * or its caller.
 * A pool can span the threads of a process: its bounds then hold for all of them together.
 * Leaves to others: what a unit is, and how many there are.
 *
 * @module
 */

export { FairShare, type FairShareSize, type Share } from "./fair_share.ts";
export { RoundRobin } from "./round_robin.ts";
export { TimeSlices } from "./time_slices.ts";
export { SharedUse, type SharedUseMemory } from "./shared_use.ts";
