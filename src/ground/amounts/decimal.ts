import { AmountError, unplain } from "./fault.ts";

/** Which numbers with decimals are allowed. */
export interface DecimalRule {
  /** What it must be, in words, with its limits: `an amount in USD from 0.01 to 999999.99, such as 2.50`. */
  readonly words: string;
  /** Number of decimals that it may have. */
  readonly decimals: number;
  /** Whose decimals they are, in words: `USD`. */
  readonly of: string;
  /** Smallest and largest, in units of the last decimal. */
  readonly min: number;
  readonly max: number;
}

/**
 * Reads a number with decimals exactly: its digits are read, nothing is multiplied.
 *
 * @param text Such as `19.99`.
 * @returns A whole number of units of the last decimal, such as cents.
 * @throws {AmountError} If it is not written in plain digits, has too many decimals or is out of range.
 */
export function decimalIn(text: string, { words, decimals, of, min, max }: DecimalRule): number {
  const [, whole, fraction = ""] = /^([0-9]+)(?:\.([0-9]+))?$/.exec(text) ?? [];
  if (whole === undefined) throw new AmountError(words, text, unplain(text));
  if (fraction.length > decimals) {
    throw new AmountError(
      words,
      text,
      `has ${fraction.length} decimals, and ${of} has ${decimals}`,
    );
  }
  const units = Number(whole + fraction.padEnd(decimals, "0"));
  if (units >= min && units <= max) return units;
  throw new AmountError(words, text, units < min ? "is too low" : "is too high");
}
