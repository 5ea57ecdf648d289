/**
 * Counts tokens locally, without a tokenizer's vocabulary.
 *
 * Promise: deterministic; constant memory; the count does not depend on how a text is split, nor on whether others have turns meanwhile.
 * Leaves to others: which texts of a request are counted (`dialects/`).
 *
 * @module
 */

export { countTokens, TokenCounter } from "./estimate.ts";
export { TextQueue } from "./text_queue.ts";
