/**
 * Numbers, durations and dates as people write them: read in one way, whatever door they come through.
 *
 * Promise: plain decimal digits and nothing else; a fault says the rule with its limits, what was given, and what is wrong
 * with that. Leaves to others: which limits there are, and what the value is of.
 *
 * @module
 */

export { AmountError, numberText } from "./fault.ts";
export { decimalIn } from "./decimal.ts";
export { durationIn, isDuration } from "./duration.ts";
export { dateIn, instantIn, instantInput } from "./dates.ts";
export { wholeIn, wholeInput, wholeQuery, type WholeRule } from "./whole.ts";
