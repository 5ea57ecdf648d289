/**
 * Limits the units within a time, for each owner: an API key, an address, an account.
 *
 * Promise: within any window of that length an owner is counted at most its limit and what came in at once with its
 * last unit; an owner who is refused gets the time to wait; memory is bounded however many owners there are.
 * Leaves to others: what the units are, and what happens to who is over the limit. Held in memory: it protects this
 * process, not anyone's credits (`admission/` does).
 *
 * @module
 */

export { RateLimit } from "./rate_limit.ts";
