import { count, date, day, hour, inZone, month } from "./format.ts";

/** One part of the bars of a chart: a value for each of its slots. */
export interface Series {
  readonly name: string;
  readonly values: readonly number[];
  /** `bad` for failures; others get the next colour. */
  readonly tone?: "bad" | "others";
}

/** A bar's place on the time axis. */
export interface Slot {
  /** Short label for the axis. */
  readonly label: string;
  /** The whole time. */
  readonly title: string;
}

/** Unit of a time axis. */
export type Span = "hour" | "day" | "month";

const MAX_STEPS = 5;

/**
 * Computes round marks for an axis from 0: up to six, evenly spaced, of which the last is at or above the highest value.
 *
 * @param highest Highest value, 0 or more.
 * @param smallestStep Smallest distance between two marks; 1 for what is counted.
 * @returns Marks in ascending order, at least 0 and one more.
 */
export function ticksFor(highest: number, smallestStep = 1): readonly number[] {
  const rough = Math.max(highest / MAX_STEPS, smallestStep);
  const power = 10 ** Math.floor(Math.log10(rough));
  // by division: 3 * 0.1 is not 0.3
  const step = [1, 2, 5, 10].map((factor) => factor * power)
    .find((one) => one >= smallestStep && highest <= one * MAX_STEPS)!;
  const count = Math.max(1, Math.ceil(highest / step));
  return Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(12)));
}

/** Adds up values at the slots that they belong to, leaving out those that belong to none. */
export function valuesAt<Row>(
  rows: readonly Row[],
  count: number,
  placeOf: (row: Row) => number,
  valueOf: (row: Row) => number,
): readonly number[] {
  const values = new Array<number>(count).fill(0);
  for (const row of rows) {
    const at = placeOf(row);
    if (at >= 0 && at < count) values[at]! += valueOf(row);
  }
  return values;
}

/** Adds up a series. */
export function totalOf({ values }: Pick<Series, "values">): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Adds up all series at each slot. */
export function stackTotals(series: readonly Series[]): readonly number[] {
  return (series[0]?.values ?? []).map((_, at) =>
    series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)
  );
}

/**
 * Keeps the series with the highest totals, highest first, and adds up the rest as "others".
 *
 * @param max Max number of series that keep their name.
 * @returns Up to `max` series, followed by one for the rest if there are more.
 */
export function topSeries(series: readonly Series[], max: number): readonly Series[] {
  const sorted = series.toSorted((a, b) => totalOf(b) - totalOf(a) || (a.name < b.name ? -1 : 1));
  if (sorted.length <= max) return sorted;
  const rest = sorted.slice(max);
  return [
    ...sorted.slice(0, max),
    { name: count(rest.length, "other"), values: stackTotals(rest), tone: "others" },
  ];
}

const SPAN_STEPS: Readonly<Record<Span, readonly number[]>> = {
  hour: [1, 2, 3, 4, 6, 12, 24, 48, 72, 168],
  day: [1, 2, 7, 14, 28, 56, 91],
  month: [1, 2, 3, 4, 6, 12, 24],
};

/**
 * Computes which slots are labelled, counted from the last, which always is: every first, second, seventh and so on.
 *
 * @returns Distance between two labels.
 */
export function labelStep(count: number, { span, max }: { span: Span; max: number }): number {
  return SPAN_STEPS[span].find((step) => Math.ceil(count / step) <= max) ?? Math.ceil(count / max);
}

/**
 * Makes the slots of a time axis.
 *
 * @param startsMs Starts of its hours, or, as if they were in UTC, of its days or months.
 * @param zone Time zone in which hours are shown.
 */
export function timeSlots(
  startsMs: readonly number[],
  span: Span,
  zone = "UTC",
): readonly Slot[] {
  return startsMs.map((ms) => {
    switch (span) {
      case "hour": {
        const localMs = inZone(ms, zone);
        const time = hour(localMs);
        return {
          label: time.startsWith("00:") ? day(localMs) : time,
          title: `${date(localMs)}, ${time} ${zone}`,
        };
      }
      case "day":
        return { label: day(ms), title: date(ms) };
      case "month":
        return { label: month(ms), title: month(ms) };
    }
  });
}
