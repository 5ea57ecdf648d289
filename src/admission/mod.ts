/**
 * May this request run, and on how many credits?
 *
 * Promise: windows and hold are decided together by the database; a request holds what it may cost
 * before anything is sent; a hold ends with its request, or with its lease when the gateway dies.
 * Leaves to others: what tokens cost (`catalog/`), how holds and entries are kept (`ledger/`).
 *
 * @module
 */

export {
  Admission,
  type AdmissionOptions,
  type AdmissionRequest,
  type AdmittedRequest,
} from "./admission.ts";
export { Hold } from "./hold.ts";
export { nearestWindow, type Window } from "./windows.ts";
