/**
 * Builds every part from the settings, in order, and closes them in reverse; the program and the tests alike.
 *
 * Who owns whom, and for how long. What is further in ends first:
 *
 * ```text
 * process      Gateway (gateway.ts)         identity, database, clock, alerts, retention; stops, hands over (running.ts)
 *   thread     ├─ Door (door.ts)            sockets, key ring, admission with its loans, in-flight requests, bounds
 *   settings   │   └─ Servings              the settings in use; replaced as a whole by a reload
 *              │       └─ Serving           catalog, upstreams, app, console of one reading of the settings
 *   request    │           └─ Lifecycle     keeps the Serving that it began with until it is settled (requests/relay)
 *   threads    └─ ServingThreads            with --workers: the other threads, started again when they die
 *                  └─ serving_thread.ts     a Door of its own, whose pages and reloads are the main thread's
 * ```
 *
 * Promise: each part is built once and is passed what it needs, the clock included; nothing is a global.
 *
 * @module
 */

export { assemble, type Gateway } from "./gateway.ts";
export type { Reload } from "./reload.ts";
export type { ServingWorker, StartThread } from "./serving_threads.ts";
export { openStore, type Store } from "./store.ts";
export { waitingStart } from "./waiting_start.ts";
