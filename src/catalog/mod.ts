/**
 * Routes: what a caller names as `model`, with limits, prices, capabilities and targets.
 *
 * Promise: rules and prices are data and pure functions; a name leads to the same route for
 * everybody. Leaves to others: who may use a route (`admission/`), who answers it (`upstreams/`).
 *
 * @module
 */

export { BUILTIN_ROUTES } from "./builtin.ts";
export { type Alias, Catalog, DEFAULT_UPSTREAM, SIMULATOR } from "./catalog.ts";
export { affordableOutput, priceOf, type TokenUse } from "./price.ts";
export type { ImageInput, Prices, Route, Target } from "./route.ts";
export { checkMedia, type ImageUse, permittedOutput, type RouteUse } from "./rules.ts";
