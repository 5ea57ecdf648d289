/**
 * Resolves model names to routes, which have limits, prices, capabilities and targets.
 *
 * Promise: rules and prices are data and pure functions; a name resolves to the same route for every caller.
 * Leaves to others: which caller may use a route (`admission/`), which upstream serves it (`upstreams/`).
 *
 * @module
 */

export { BUILTIN_ROUTES } from "./builtin.ts";
export { type Alias, Catalog } from "./catalog.ts";
export { embeddingsSettings, type ListedSettings, settingsOfModel } from "./route_defaults.ts";
export { DEFAULT_UPSTREAM, knownUrlOf, SIMULATOR } from "./upstream_names.ts";
export { claudeName, kindByName, whyNotServed } from "./model_names.ts";
export {
  chargeOf,
  heldRoute,
  openInput,
  type PricedBy,
  pricedByOwnKey,
  type ReplyUse,
  reservedFor,
} from "./extra_price.ts";
export { routeAt, routeFor } from "./price_rows.ts";
export { affordableOutput, inCredits, priceOf } from "./price.ts";
export { compareWithKnown, type DisputedRoute, disputedRoutes } from "./compare_routes.ts";
export { type ListedModel, type Listings, NO_LISTINGS } from "./listings.ts";
export {
  describeTargets,
  type Prices,
  type Route,
  type RouteKind,
  type SentBounds,
  type Target,
} from "./route.ts";
export {
  checkAsked,
  checkMedia,
  defaultOutput,
  isBuiltInRoute,
  MAX_OVERCOUNT,
  permittedOutput,
} from "./rules.ts";
