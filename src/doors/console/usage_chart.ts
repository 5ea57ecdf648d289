import {
  daysSince,
  reasonWords,
  type UsageReport,
  type UsageRow,
  type UsageSum,
} from "../../money/usage/mod.ts";
import { type ChartProps, MAX_SERIES } from "./chart.tsx";
import { type Series, type Span, timeSlots, topSeries, valuesAt } from "./chart_scale.ts";
import { count as countOf, inZone } from "./format.ts";

const SPAN_MS = { hour: 3_600_000, day: 86_400_000 } as const;

/**
 * Arranges the requests of the last UTC days as a chart, told apart by whether they failed, with as many days before as
 * comparison.
 *
 * @param points Usage of twice that time; days without any may be missing.
 */
export function requestsChart(
  points: readonly UsageSum<"day">[],
  { title, days, nowMs }: {
    readonly title: string;
    /** Number of days, today included. */
    readonly days: number;
    readonly nowMs: number;
  },
): ChartProps {
  const firstMs = daysSince(nowMs, days);
  const valuesFrom = (startMs: number, value: (point: UsageSum<"day">) => number) =>
    valuesAt(points, days, ({ day }) => Math.floor((day - startMs) / SPAN_MS.day), value);
  const succeeded = valuesFrom(firstMs, ({ requests, errors }) => requests - errors);
  const failed = valuesFrom(firstMs, ({ errors }) => errors);
  const before = valuesFrom(firstMs - days * SPAN_MS.day, ({ requests }) => requests);
  const isAny = (values: readonly number[]) => values.some((value) => value > 0);
  return {
    title,
    unit: "requests",
    span: "day",
    slots: timeSlots(before.map((_, at) => firstMs + at * SPAN_MS.day), "day"),
    series: [
      ...isAny(succeeded) || isAny(failed) ? [{ name: "succeeded", values: succeeded }] : [],
      ...isAny(failed) ? [{ name: "failed", values: failed, tone: "bad" as const }] : [],
    ],
    before: isAny(before) ? { name: `${countOf(days, "day")} before`, values: before } : undefined,
  };
}

/** Bars of a chart of a report. */
export const MAX_BARS = 100;

/** The range of a report, and its groups by a time and up to one noun. */
export type TimeReport = Pick<UsageReport, "since" | "until" | "zone" | "by" | "rows">;

/** The name of a row's group: of a key, an account or a team its name, of a reason its words. */
export function groupName({ group, names }: Pick<UsageRow, "group" | "names">, by: string): string {
  const name = names[by] ?? (group[by] || "none");
  return by === "reason" ? reasonWords(name) : name;
}

/**
 * Chooses how a range is grouped by time so that a chart has few bars.
 *
 * @returns `undefined` if the range is too long for any.
 */
export function spanFor({ since, until }: Pick<TimeReport, "since" | "until">): Span | undefined {
  const days = (Date.parse(until) - Date.parse(since)) / SPAN_MS.day;
  return days <= 3 ? "hour" : days <= MAX_BARS ? "day" : days <= 3_000 ? "month" : undefined;
}

/**
 * Arranges the credits of a report by time as a chart, stacked by its noun if it has one. Of failed requests, which cost
 * nothing, it has the number.
 *
 * @param report Groups by hour, day or month, and up to one noun.
 * @param before The period before, by the same time, drawn as an outline.
 * @param labels Labels by ID that a report beside it has, which may tell more groups apart.
 * @returns `undefined` if it has no time, too many nouns, or too many bars.
 */
export function reportChart(
  report: TimeReport,
  before?: TimeReport,
  labels: ReadonlyMap<string, string> = new Map(),
): ChartProps | undefined {
  const span = report.by.find((one) => one in INDEX_OF) as Span | undefined;
  if (span === undefined || report.by.length > 2) return undefined;
  const noun = report.by.find((one) => one !== span);
  const indexOf = INDEX_OF[span];
  const first = indexOf(startOf(report, span));
  const last = indexOf(startOf({ ...report, since: lastMoment(report) }, span));
  const count = last - first + 1;
  if (!(count >= 1 && count <= MAX_BARS)) return undefined;
  const unit = noun === "reason" ? "requests" : "credits";
  const series = new Map<string, Series & { readonly values: number[] }>(); // by ID
  for (const row of report.rows) {
    const at = indexOf(row.group[span]!) - first;
    if (row.isOthers || !(at >= 0 && at < count)) continue;
    const id = noun === undefined ? "" : row.group[noun] ?? "";
    const name = noun === undefined ? unit : labels.get(id) ?? groupName(row, noun);
    const one = series.get(id) ?? { name, values: new Array<number>(count).fill(0) };
    series.set(id, one);
    one.values[at]! += row[unit];
  }
  const valuesOf = (rows: readonly UsageRow[], firstIndex: number) =>
    valuesAt(rows, count, ({ group }) => indexOf(group[span]!) - firstIndex, (row) => row[unit]);
  const others = valuesOf(report.rows.filter(({ isOthers }) => isOthers), first);
  return {
    title: `${unit === "credits" ? "Credits" : "Failed requests"} by ${span}${
      noun === undefined ? "" : ` and ${noun.replace(":", " ")}`
    }`,
    unit,
    span,
    slots: timeSlots(
      Array.from({ length: count }, (_, at) => MS_OF[span](first + at)),
      span,
      report.zone,
    ),
    zone: report.zone,
    series: [
      ...topSeries([...series.values()], MAX_SERIES),
      ...(others.some((value) => value > 0)
        ? [{ name: "all others", values: others, tone: "others" as const }]
        : []),
    ],
    before: before === undefined ? undefined : {
      name: "period before",
      values: valuesOf(before.rows, indexOf(startOf(before, span))),
    },
  };
}

/** Numbers of hours, days and months since the epoch, of times as reports write them. */
const INDEX_OF: Readonly<Record<Span, (text: string) => number>> = {
  hour: (text) => Math.floor(Date.parse(text) / SPAN_MS.hour),
  day: (text) => Math.floor(Date.parse(text) / SPAN_MS.day),
  month: (text) => Number(text.slice(0, 4)) * 12 + Number(text.slice(5, 7)) - 1,
};
const MS_OF: Readonly<Record<Span, (index: number) => number>> = {
  hour: (index) => index * SPAN_MS.hour,
  day: (index) => index * SPAN_MS.day,
  month: (index) => Date.UTC(Math.floor(index / 12), index % 12),
};

/** The start of a report as a time of its groups: hours are hours of UTC, days and months those of the zone. */
function startOf({ since, zone }: Pick<TimeReport, "since" | "zone">, span: Span): string {
  if (span === "hour") return since;
  return new Date(inZone(Date.parse(since), zone)).toISOString().slice(0, 10);
}

function lastMoment({ until }: Pick<TimeReport, "until">): string {
  return new Date(Date.parse(until) - 1).toISOString();
}
