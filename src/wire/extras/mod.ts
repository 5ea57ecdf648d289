/**
 * What may be asked for besides text and the caller's own tools: service tiers, regions, tools that run at the upstream,
 * prompt caches that live long, things that are kept for the operator.
 *
 * Promise: nothing that costs more than its tokens reaches an upstream unless the request's route allows it, and then it has a
 * price. What is left out is named.
 * Leaves to others: counting (`dialects/meter.ts`), prices of tokens (`catalog/`).
 *
 * @module
 */

export { type AllowedExtras, NO_EXTRAS, type UsedExtras } from "./allowed.ts";
export { applyExtras, hasHostedTools } from "./apply.ts";
export { REQUEST_FIELDS } from "./request_fields.ts";
export { toldFactor } from "./told.ts";
export { hostedTool, nameOf } from "./tools.ts";
