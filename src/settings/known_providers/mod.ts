/**
 * Providers of models that are known by name: where they are, what they speak, and what their own tools read a key from.
 *
 * Promise: data and pure functions.
 * Leaves to others: what departures mean (`requests/upstreams/`), models and prices (`known_models/`).
 *
 * @module
 */

export {
  fillUrl,
  findKnownProvider,
  type Hole,
  HOLES,
  type KnownProvider,
  knownProviders,
  providersIn,
  urlPartOf,
} from "./known_providers.ts";
export { QUIRK_NAMES, type QuirkName } from "./quirk_names.ts";
