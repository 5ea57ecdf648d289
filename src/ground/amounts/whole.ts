import * as z from "zod";
import { AmountError, numberText, unplain } from "./fault.ts";

/** Which whole numbers are allowed. */
export interface WholeRule {
  readonly min: number;
  /** Up to 2^53 - 1. */
  readonly max: number;
  /** What is counted, in the plural: `credits`. */
  readonly unit?: string;
}

/** Says in words which whole numbers are allowed. */
export function wholeRule({ min, max, unit }: WholeRule): string {
  const kind = `a whole number${unit === undefined ? "" : ` of ${unit}`}`;
  if (max >= Number.MAX_SAFE_INTEGER) return `${kind}, ${numberText(min)} or more`;
  return `${kind} from ${numberText(min)} to ${numberText(max)}`;
}

/**
 * Reads a whole number.
 *
 * @param text Decimal digits.
 * @throws {AmountError} If it is something else or out of range.
 */
export function wholeIn(text: string, rule: WholeRule): number {
  const why = faultOf(text, rule);
  if (why !== undefined) throw new AmountError(wholeRule(rule), text, why);
  return Number(text);
}

/**
 * Makes the schema of a whole number in JSON, whose faults are those of {@linkcode wholeIn}.
 *
 * @returns A schema that JSON Schema can express.
 */
export function wholeInput(rule: WholeRule): z.ZodInt {
  const error = ({ input }: { readonly input?: unknown }) =>
    input === undefined
      ? `is missing: must be ${wholeRule(rule)}`
      : new AmountError(wholeRule(rule), input, faultOf(input, rule) ?? "is text").message;
  return z.int({ error, abort: true }).min(rule.min, { error }).max(rule.max, { error });
}

/** Makes the schema of a whole number in a query, where numbers are texts. */
export function wholeQuery(rule: WholeRule) {
  return z.preprocess(
    (value) =>
      typeof value === "string" && faultOf(value, rule) === undefined ? Number(value) : value,
    wholeInput(rule),
  ).meta({ type: "integer", minimum: rule.min, maximum: rule.max });
}

function faultOf(value: unknown, { min, max }: WholeRule): string | undefined {
  if (typeof value === "string") {
    if (/^[0-9]+\.[0-9]+$/.test(value)) return "has decimals";
    if (!/^[0-9]+$/.test(value)) return unplain(value);
  } else if (typeof value !== "number") return "is no number";
  else if (!Number.isInteger(value)) return value < 0 ? "is negative" : "has decimals";
  const number = Number(value);
  if (number < min) return number < 0 || Object.is(number, -0) ? "is negative" : "is too low";
  return number > max ? "is too high" : undefined;
}
