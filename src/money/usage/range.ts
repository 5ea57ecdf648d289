import { isTimeZone, periodAt } from "../ledger/mod.ts";
import { dateIn, instantIn } from "../../ground/amounts/mod.ts";
import { ZoneFormats } from "../../ground/platform/mod.ts";
import { DAY_MS, HOUR_MS, startOf } from "../../ground/time.ts";

/** A report that cannot be made of what was asked; the message says what to ask instead. */
export class ReportError extends Error {
  override readonly name = "ReportError";
  /** Whether a noun that it names does not exist; otherwise what was asked for makes no sense. */
  readonly isMissing: boolean;

  constructor(message: string, { isMissing = false }: { readonly isMissing?: boolean } = {}) {
    super(message);
    this.isMissing = isMissing;
  }
}

/** Hours from `sinceMs` on and before `untilMs`. */
export interface UsageRange {
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Whether a bound was inside of an hour, at whose beginning it is now. */
  readonly isRounded: boolean;
}

/** What bounds are read with. */
export interface RangeOptions {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  /** Time zone of days and months. */
  readonly zone: string;
  readonly nowMs: number;
  /** Where the range begins without `since`. */
  readonly firstMs: number;
}

/** What a bound may be, for help and errors. */
export const BOUND_WORDS =
  "a date (2026-11-05), a month (2026-11), a time with its zone (2026-11-05T10:00Z), today, yesterday, month, or a number of hours " +
  "or days until now (48h, 7d)";

/**
 * Reads the bounds of a report, from the first and before the second.
 *
 * @param options Bounds, each {@linkcode BOUND_WORDS}. Without `until` the range ends with the present hour.
 * @returns The range, in whole hours.
 * @throws {ReportError} If a bound or the zone is not valid, or the range is empty.
 */
export function readRange({ since, until, zone, nowMs, firstMs }: RangeOptions): UsageRange {
  if (!isTimeZone(zone)) {
    throw new ReportError(
      `Unknown time zone '${zone}': use a name of the IANA database, such as Europe/Berlin.`,
    );
  }
  const endMs = startOf(nowMs, HOUR_MS) + HOUR_MS;
  const bounds = [
    since === undefined ? Math.min(firstMs, endMs - HOUR_MS) : boundAt(since, zone, nowMs),
    until === undefined ? endMs : boundAt(until, zone, nowMs),
  ] as const;
  const [sinceMs, untilMs] = [startOf(bounds[0], HOUR_MS), startOf(bounds[1], HOUR_MS)];
  if (untilMs <= sinceMs) {
    throw new ReportError(
      `The range is empty: it begins at ${timeText(sinceMs)} and ends before ${
        timeText(untilMs)
      }. ` +
        "The end is not part of it, and ranges are whole hours.",
    );
  }
  return { sinceMs, untilMs, isRounded: sinceMs !== bounds[0] || untilMs !== bounds[1] };
}

/** A time, for people and programs: `2026-11-05T10:00Z`. */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16)}Z`;
}

/** The year before the last that an instant can be written in: what follows it can be, too. */
const MAX_MS = Date.UTC(9999, 0);

export function boundAt(text: string, zone: string, nowMs: number): number {
  const today = () => periodAt("day", zone, nowMs).startsAtMs;
  const [, count, unit] = /^(\d{1,5})([hd])$/.exec(text) ?? [];
  if (count !== undefined && Number(count) > 0) {
    const n = Number(count) - 1;
    if (unit === "h") return startOf(nowMs, HOUR_MS) - n * HOUR_MS;
    return dayStart(localDate(zone, nowMs) - n * DAY_MS, zone);
  }
  switch (text) {
    case "today":
      return today();
    case "yesterday":
      return periodAt("day", zone, today() - 1).startsAtMs;
    case "month":
      return periodAt("month", zone, nowMs).startsAtMs;
  }
  const date = dateIn(text);
  if (date !== undefined && date < MAX_MS) return dayStart(date, zone);
  const atMs = instantIn(text);
  if (atMs !== undefined && atMs < MAX_MS) return atMs;
  throw new ReportError(`Invalid date '${text}': use ${BOUND_WORDS}.`);
}

/** This locale writes 2026-11-21. */
const DATES = new ZoneFormats("en-CA", { year: "numeric", month: "2-digit", day: "2-digit" });

/** The date of a time in a zone, as its beginning if it were UTC. */
export function localDate(zone: string, atMs: number): number {
  // the middle of a day is in its UTC date or in a neighbour, whatever clocks do at its ends
  const { startsAtMs, endsAtMs } = periodAt("day", zone, atMs);
  const text = DATES.of(zone).format((startsAtMs + endsAtMs) / 2);
  return Date.parse(`${text}T00:00Z`);
}

/** The beginning of a date, given as if it were UTC, in a zone. */
function dayStart(date: number, zone: string): number {
  const noonMs = date + DAY_MS / 2;
  for (const atMs of [noonMs, noonMs - DAY_MS / 2, noonMs + DAY_MS / 2]) {
    if (localDate(zone, atMs) === date) return periodAt("day", zone, atMs).startsAtMs;
  }
  return periodAt("day", zone, noonMs).startsAtMs; // a date that the zone has skipped
}

/**
 * The period that a range is compared with: part of a day, or of a month, with the same part of another.
 *
 * - of a range that was asked for by month, as many months before, up to the same day and time of the last one;
 * - of any other that begins with a day of the zone, as many days before, up to the same time of the last one;
 * - of the others the time before of the same length.
 *
 * @param since What was asked for.
 */
export function periodBefore(
  range: UsageRange,
  { zone, since = "" }: { readonly zone: string; readonly since?: string | undefined },
): UsageRange {
  const { sinceMs, untilMs } = range;
  const first = localDate(zone, sinceMs);
  if (startOf(dayStart(first, zone), HOUR_MS) !== sinceMs) {
    return { ...range, sinceMs: sinceMs - (untilMs - sinceMs), untilMs: sinceMs };
  }
  const last = localDate(zone, untilMs - 1);
  const isByMonth = since === "month" || MONTH.test(since);
  const shifted = isByMonth ? monthsBefore(first, last) : daysBefore(first, last);
  const startIn = (date: number) => startOf(dayStart(date, zone), HOUR_MS);
  const sameTimeMs = startIn(shifted(last)) + untilMs - startIn(last);
  return {
    ...range,
    sinceMs: startIn(shifted(first)),
    untilMs: untilMs === startIn(last + DAY_MS) && isEndOf(last, isByMonth)
      ? sinceMs
      : Math.min(sameTimeMs, sinceMs),
  };
}

const MONTH = /^\d{4}-\d{2}$/;

/** Moves dates by the number of days from the first to the last. */
function daysBefore(first: number, last: number): (date: number) => number {
  return (date) => date - (last - first) - DAY_MS;
}

/** Moves dates by the number of months from the first to the last; to the end of a month that has no such day. */
function monthsBefore(first: number, last: number): (date: number) => number {
  const monthOf = (date: Date) => date.getUTCFullYear() * 12 + date.getUTCMonth();
  const dateOf = (month: number, day: number) => Date.UTC(Math.floor(month / 12), month % 12, day);
  const count = monthOf(new Date(last)) - monthOf(new Date(first)) + 1;
  return (ms) => {
    const date = new Date(ms);
    const month = monthOf(date) - count;
    return Math.min(dateOf(month, date.getUTCDate()), dateOf(month + 1, 0));
  };
}

/** Whether a date is the last of a month. */
function isEndOf(date: number, isByMonth: boolean): boolean {
  return !isByMonth || new Date(date + DAY_MS).getUTCDate() === 1;
}

/** Beginnings of the days or months of a zone that a range touches, and its end. */
export function periodsOf(
  period: "day" | "month",
  zone: string,
  { sinceMs, untilMs }: Pick<UsageRange, "sinceMs" | "untilMs">,
): readonly { readonly startsAtMs: number; readonly sinceMs: number; readonly untilMs: number }[] {
  const periods = [];
  for (let atMs = sinceMs; atMs < untilMs;) {
    const bounds = periodAt(period, zone, atMs);
    // an hour that a period begins in the middle of is of that period
    const endMs = Math.max(startOf(bounds.endsAtMs, HOUR_MS), atMs + HOUR_MS);
    const isLate = startOf(bounds.endsAtMs, HOUR_MS) <= atMs;
    const own = isLate ? periodAt(period, zone, bounds.endsAtMs) : bounds;
    const lastMs = Math.min(isLate ? startOf(own.endsAtMs, HOUR_MS) : endMs, untilMs);
    periods.push({ startsAtMs: own.startsAtMs, sinceMs: atMs, untilMs: lastMs });
    atMs = lastMs;
  }
  return periods;
}
