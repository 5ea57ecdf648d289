/**
 * What the API and the console share of HTTP: bodies that clients keep, with their entity tags.
 *
 * @module
 */

export { Entity } from "./entity.ts";
