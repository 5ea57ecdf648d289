import * as z from "zod";
import { AmountError } from "./fault.ts";
import { DAY_MS } from "../time.ts";

/** Years that dates may have: those whose instants have four digits and are not negative. */
const MAX_MS = Date.UTC(10_000, 0);
const INSTANT_RULE =
  "a time with its zone (RFC 3339) from 1970 to 9999, such as 2026-11-05T10:00:00Z";

/**
 * Reads a date of the calendar, or the first of a month.
 *
 * @param text `2026-11-05` or `2026-11`.
 * @returns Its beginning in UTC, in milliseconds since the epoch; `undefined` for what is none, such as February 30.
 */
export function dateIn(text: string): number | undefined {
  if (!/^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$/.test(text)) return undefined;
  const [year = 0, month = 0, day = 1] = text.split("-").map(Number);
  const ms = Date.UTC(year, month - 1, day);
  // there are parsers that take February 30
  const isDate = !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
  return isDate && ms >= DAY_MS && ms < MAX_MS ? ms : undefined;
}

/**
 * Reads a point in time with its zone.
 *
 * @param text RFC 3339; seconds may be left out.
 * @returns Milliseconds since the epoch; `undefined` for what is none.
 */
export function instantIn(text: string): number | undefined {
  const form =
    /^([0-9]{4}-[0-9]{2}-[0-9]{2})T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$/;
  const [, date] = form.exec(text) ?? [];
  if (date === undefined || dateIn(date) === undefined) return undefined;
  const ms = Date.parse(text);
  return ms >= 0 && ms < MAX_MS ? ms : undefined;
}

/** Schema of a point in time in JSON. */
export const instantInput = z.string({
  error: ({ input }) => input === undefined ? `is missing: must be ${INSTANT_RULE}` : undefined,
}).refine((text) => instantIn(text) !== undefined, {
  error: ({ input }) => new AmountError(INSTANT_RULE, input, "is none").message,
}).meta({ format: "date-time" });
