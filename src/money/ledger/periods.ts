/**
 * When budgets renew: days, weeks and months of a time zone, as instants.
 *
 * A period begins when its first local date does: at midnight, or at the first instant of that date where clocks skip
 * midnight. It ends where the next one begins, so that each instant is in one period of a zone, whatever its clocks do.
 */

import { ZoneFormats } from "../../ground/platform/mod.ts";
import { DAY_MS, HOUR_MS, NEVER } from "../../ground/time.ts";

/** How often a budget renews. */
export type BudgetPeriod = "day" | "week" | "month" | "life";

/** The periods, the shortest first. */
export const BUDGET_PERIODS = ["day", "week", "month", "life"] as const satisfies BudgetPeriod[];

/** Instants from `startsAtMs` on and before `endsAtMs`. */
export interface PeriodBounds {
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

/** Offsets from UTC are between -12 and +14 hours. */
const LATEST_OFFSET_MS = 15 * HOUR_MS;
/** The end of the year 9999, whose local times have four digits. */
const LATEST_MS = Date.UTC(9999, 11, 31);
/** Names of the IANA database; offsets like `+05:31` would let periods begin at any minute. */
const ZONE_NAME = /^[A-Za-z][A-Za-z0-9_+/-]*$/;

/** Making one takes a millisecond. */
const FORMATS = new ZoneFormats("en-US", {
  calendar: "gregory",
  numberingSystem: "latn",
  hourCycle: "h23",
  year: "numeric",
  month: "numeric",
  day: "numeric",
  hour: "numeric",
  minute: "numeric",
  second: "numeric",
});

/** Whether a text is the name of a time zone, such as `UTC` or `Europe/Berlin`. */
export function isTimeZone(zone: string): boolean {
  if (!ZONE_NAME.test(zone)) return false;
  try {
    FORMATS.of(zone);
    return true;
  } catch {
    return false;
  }
}

/**
 * Finds the day, the week from Monday, or the month of a time zone that an instant is in.
 *
 * @param atMs Milliseconds since the epoch.
 * @returns Its bounds, in milliseconds since the epoch; those of a lifetime are 0 and 2^53 - 1.
 * @throws {RangeError} If the time zone is unknown.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { periodAt } from "./mod.ts";
 *
 * const noon = Date.parse("2026-03-29T12:00:00+02:00"); // clocks were set forward at 2:00
 * const { startsAtMs, endsAtMs } = periodAt("day", "Europe/Berlin", noon);
 * assertEquals((endsAtMs - startsAtMs) / 3_600_000, 23);
 * ```
 */
export function periodAt(period: BudgetPeriod, zone: string, atMs: number): PeriodBounds {
  if (period === "life") return { startsAtMs: 0, endsAtMs: NEVER };
  // from the one before on, as the local date runs back where clocks are set back over midnight
  let first = firstDate(period, firstDate(period, localMs(zone, atMs)) - DAY_MS);
  let next = nextDate(period, first);
  while (startOf(zone, next) <= atMs) {
    first = next;
    next = nextDate(period, first);
  }
  return { startsAtMs: startOf(zone, first), endsAtMs: startOf(zone, next) };
}

/**
 * Finds the instant of a local time.
 *
 * @param zone Name of the time zone.
 * @param local Date and time as forms send them: `2026-12-24T18:00`.
 * @returns Milliseconds since the epoch: of a time that occurs twice the first, of one that clocks skip one just after;
 *   undefined if it is not a time of the calendar.
 */
export function instantAt(zone: string, local: string): number | undefined {
  const wallMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(local) ? Date.parse(`${local}Z`) : NaN;
  // there are parsers that take February 30
  if (Number.isNaN(wallMs) || !new Date(wallMs).toISOString().startsWith(local)) return undefined;
  const earlierMs = wallMs - offsetMs(zone, wallMs - LATEST_OFFSET_MS);
  if (localMs(zone, earlierMs) === wallMs) return earlierMs;
  const laterMs = wallMs - offsetMs(zone, wallMs + LATEST_OFFSET_MS);
  return localMs(zone, laterMs) === wallMs ? laterMs : earlierMs;
}

/** The local time at an instant, to the minute, as forms have it: `2026-12-24T18:00`. */
export function localMinute(atMs: number, zone: string): string {
  // beyond what a local time can be computed of
  const boundedMs = Math.min(atMs, LATEST_MS);
  return new Date(localMs(zone, boundedMs)).toISOString().slice(0, 16);
}

/** The first date of the period that a local time is in; local times and dates are written as if they were UTC. */
function firstDate(period: "day" | "week" | "month", localMs: number): number {
  const day = Math.floor(localMs / DAY_MS);
  if (period === "day") return day * DAY_MS;
  // 1970 began on a Thursday
  if (period === "week") return (day - (day + 3) % 7) * DAY_MS;
  const date = new Date(localMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

function nextDate(period: "day" | "week" | "month", first: number): number {
  if (period !== "month") return first + (period === "day" ? 1 : 7) * DAY_MS;
  const date = new Date(first);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** The instant at which a local date begins. */
function startOf(zone: string, date: number): number {
  let lowMs = date - LATEST_OFFSET_MS;
  let highMs = date + LATEST_OFFSET_MS;
  const before = offsetMs(zone, lowMs);
  const after = offsetMs(zone, highMs);
  if (before === after) return date - before;
  // when clocks are set
  while (highMs - lowMs > 1) {
    const middleMs = Math.floor((lowMs + highMs) / 2);
    if (offsetMs(zone, middleMs) === before) lowMs = middleMs;
    else highMs = middleMs;
  }
  if (date - before < highMs) return date - before;
  return Math.max(highMs, date - after);
}

function offsetMs(zone: string, atMs: number): number {
  return localMs(zone, atMs) - atMs;
}

/** The local time at an instant, written as if it were UTC. */
function localMs(zone: string, atMs: number): number {
  if (zone === "UTC") return atMs;
  const parts: Record<string, number> = {};
  for (const { type, value } of FORMATS.of(zone).formatToParts(atMs)) parts[type] = Number(value);
  const { year, month, day, hour, minute, second } = parts;
  const wholeMs = Math.floor(atMs / 1_000) * 1_000;
  return Date.UTC(year!, month! - 1, day!, hour!, minute!, second!) + atMs - wholeMs;
}

/**
 * Describes an instant in a time zone.
 *
 * @returns Such as `2026-12-01 00:00 (Europe/Berlin)`, or `2026-12-01 00:00 UTC`.
 */
export function localTime(atMs: number, zone: string): string {
  return `${localMinute(atMs, zone).replace("T", " ")} ${zone === "UTC" ? "UTC" : `(${zone})`}`;
}
