/**
 * Keeps items of replies for a short time, so that clients can refer to them by their IDs instead of sending them again.
 *
 * Promise: items are encrypted, found only by the account that they were made for, bounded for each account and in all, and
 * gone after an hour at the latest. Prompts are not kept. Leaves to others: which items there are, and what a reference is.
 *
 * @module
 */

export { KeptItems } from "./kept_items.ts";
export { findSurplus, pruneExpired } from "./prune.ts";
