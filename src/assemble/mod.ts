/**
 * Builds every part from the settings, in order, and closes them in reverse; the program and the tests alike.
 *
 * Promise: each part is built once and is passed what it needs, the clock included; nothing is a global.
 *
 * @module
 */

export { assemble, type Environment, type Gateway } from "./gateway.ts";
export type { Reload } from "./reload.ts";
export type { ServingWorker, StartThread } from "./serving_threads.ts";
export { openStore, type Store, type StoreOptions } from "./store.ts";
