/**
 * Counting tokens locally, where no upstream has counted them.
 *
 * Promise: deterministic, constant memory, the same however a text is cut.
 * Leaves to others: which texts of a request count (`dialects/`).
 *
 * @module
 */

export { countTokens, TokenCounter } from "./estimate.ts";
