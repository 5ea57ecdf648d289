import { AmountError, unplain } from "./fault.ts";

const UNITS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
/** A hundred years. */
const MAX_DAYS = 36_500;

/** Whether a text has the form of a duration, whatever its size. */
export function isDuration(text: string): boolean {
  return /^[0-9]+[mhdw]$/.test(text);
}

/**
 * Reads a duration.
 *
 * @param text `30d`: whole minutes `m`, hours `h`, days `d` or weeks `w`.
 * @param maxDays The longest, in days.
 * @returns Milliseconds.
 * @throws {AmountError} If it is something else, nothing or too long.
 */
export function durationIn(text: string, maxDays = MAX_DAYS): number {
  const rule = `a number and a unit (m, h, d or w) up to ${maxDays}d, such as 12h or ${
    Math.min(maxDays, 30)
  }d`;
  if (!isDuration(text)) {
    const why = /^[0-9]+$/.test(text) ? "has no unit" : unplain(text);
    throw new AmountError(rule, text, why);
  }
  const ms = Number(text.slice(0, -1)) * UNITS[text.at(-1)!]!;
  if (ms > 0 && ms <= maxDays * UNITS.d!) return ms;
  throw new AmountError(rule, text, ms === 0 ? "is too short" : "is too long");
}
