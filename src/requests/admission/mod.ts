/**
 * Decides whether a request may run, and on how many credits.
 *
 * Promise: the database decides rate windows and the hold together; a request holds the credits it may cost before
 * anything is sent; a hold ends with its request, or with its lease if the gateway dies.
 * Leaves to others: prices (`catalog/`), storage of holds and entries (`ledger/`).
 *
 * @module
 */

export { Admission, type AdmissionOptions, type AdmittedRequest } from "./admission.ts";
export { Hold } from "./hold.ts";
export type { AdmissionSettings } from "./settings.ts";
export { nearestWindow, type Window } from "./windows.ts";
