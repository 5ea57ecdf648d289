/**
 * Prices of models as their makers and hosts publish them, with everything that has a price of its own.
 *
 * Promise: data and pure functions; a price that is not known is none, never 0.
 * Leaves to others: what a request costs here (`catalog/`).
 *
 * @module
 */

export {
  findKnownPrices,
  type KnownPrices,
  priceIdOf,
  pricesAt,
  staticPrices,
  type UsdPrice,
} from "./known_prices.ts";
export { type PriceUnit } from "./units.ts";
