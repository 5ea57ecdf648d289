/**
 * Resolves model names to routes, which have limits, prices, capabilities and targets.
 *
 * Promise: rules and prices are data and pure functions; a name resolves to the same route for every caller.
 * Leaves to others: which caller may use a route (`admission/`), which upstream serves it (`upstreams/`).
 *
 * @module
 */

export { BUILTIN_ROUTES } from "./builtin.ts";
export { type Alias, Catalog, DEFAULT_UPSTREAM, SIMULATOR } from "./catalog.ts";
export { affordableOutput, priceOf, type TokenUse } from "./price.ts";
export { describeTargets, type ImageInput, type Prices, type Route, type Target } from "./route.ts";
export { checkMedia, type ImageUse, permittedOutput, type RouteUse } from "./rules.ts";
