/**
 * What the API and the console share of HTTP: bodies that clients keep, with their entity tags, and where
 * requests come from.
 *
 * @module
 */

export { Entity } from "./entity.ts";
export { isSameOrigin, TrustedProxies, type Visitor, visitorOf } from "./visitor.ts";
