/**
 * Models that are known by name: limits, prices and capabilities, as their makers and hosts publish them.
 *
 * Promise: data and pure functions; a name finds at most one model.
 * Leaves to others: which models are served, and what they cost here (`catalog/`).
 *
 * @module
 */

export {
  type DisputedPrice,
  disputedPrices,
  findKnownModel,
  type KnownModel,
  knownModels,
} from "./known_models.ts";
