import {
  daysSince,
  hoursSince,
  reportUsage,
  type RequestLatency,
  requestLatency,
  type UsageParts,
  usageQuery,
  type UsageReport,
  type UsageRow,
} from "../../../money/usage/mod.ts";
import { isoOf } from "../../../operating/operations/mod.ts";
import type { ChartProps } from "../chart.tsx";
import { type Series, timeSlots, valuesAt } from "../chart_scale.ts";
import { reportChart } from "../usage_chart.ts";
import { DAY_MS, HOUR_MS } from "../../../ground/time.ts";

const UNIT_MS = { hour: HOUR_MS, day: DAY_MS } as const;
/** Models that a chart tells apart, and rows of the lists of the top ones. */
const TOP_SERIES = 5;
const TOP_ROWS = 6;
/** Records that percentiles are computed from. */
const LATENCY_REQUESTS = 1_000;

/** Ranges of the overview, by what its address calls them. */
export const RANGES = {
  today: { words: "today", days: 1 },
  "7d": { words: "7 days", days: 7 },
  "30d": { words: "30 days", days: 30 },
  "90d": { words: "90 days", days: 90 },
} as const;
/** Name of a range. */
export type RangeName = keyof typeof RANGES;

/** Whether a text names a range. */
export function isRange(text: string): text is RangeName {
  return Object.hasOwn(RANGES, text);
}

/** UTC days with the present one, up to the end of the present hour; and as many days before, up to the same hour. */
interface Span {
  readonly unit: "hour" | "day";
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly shiftMs: number;
}

/** What all accounts used within a range. */
export interface OverviewFigures {
  readonly span: Span;
  /** By hour or day, and the top models. */
  readonly overTime: UsageReport;
  /** The days before, by hour or day. */
  readonly before: UsageReport;
  /** Most credits first; the last row may be of all others. */
  readonly models: UsageReport;
  readonly accounts: UsageReport;
  readonly latency: RequestLatency;
  readonly latencyBefore: RequestLatency;
}

/** Reads what all accounts used within a range, and in the days before: from roll-ups, and a few records. */
export async function overviewFigures(
  parts: UsageParts,
  range: RangeName,
): Promise<OverviewFigures> {
  const span = spanOf(range, parts.now());
  const report = async (
    by: string,
    { top, ago = false, ...options }: {
      readonly top?: number;
      readonly ago?: boolean;
      readonly reasons?: "totals";
      readonly topGroups?: readonly string[];
    } = {},
  ) =>
    await reportUsage(
      parts,
      usageQuery.parse({
        since: isoOf(span.sinceMs - (ago ? span.shiftMs : 0)),
        until: isoOf(span.untilMs - (ago ? span.shiftMs : 0)),
        by,
        top,
      }),
      {},
      { reasons: "none", ...options },
    );
  const latency = (shiftMs: number) =>
    requestLatency(parts.database, {
      sinceMs: span.sinceMs - shiftMs,
      untilMs: span.untilMs - shiftMs,
      limit: LATENCY_REQUESTS,
    });
  const models = await report("model", { top: TOP_ROWS });
  const topGroups = models.rows.flatMap(({ group, isOthers }) => isOthers ? [] : group.model!);
  return {
    span,
    models,
    overTime: await report(`${span.unit},model`, {
      top: TOP_SERIES,
      topGroups,
      reasons: "totals",
    }),
    before: await report(span.unit, { ago: true }),
    accounts: await report("account", { top: TOP_ROWS }),
    latency: await latency(0),
    latencyBefore: await latency(span.shiftMs),
  };
}

function spanOf(range: RangeName, nowMs: number): Span {
  const { days } = RANGES[range];
  return {
    unit: days === 1 ? "hour" : "day",
    sinceMs: daysSince(nowMs, days),
    untilMs: hoursSince(nowMs, 1) + HOUR_MS,
    shiftMs: days * DAY_MS,
  };
}

/** Arranges credits by the top models as a chart, what the others used above them. */
export function spendChart({ overTime, before }: OverviewFigures): ChartProps | undefined {
  const rows = overTime.rows.filter(({ credits }) => credits > 0);
  const hasBefore = before.totals.credits > 0;
  const chart = reportChart({ ...overTime, rows }, hasBefore ? before : undefined);
  if (chart === undefined || chart.series.length > 0) return chart;
  return { ...chart, series: [{ name: "none", values: chart.slots.map(() => 0) }] };
}

/** Arranges requests, and those of them that failed, as a chart. */
export function requestsChart({ span, overTime, before }: OverviewFigures): ChartProps {
  const { unit, sinceMs, untilMs, shiftMs } = span;
  const unitMs = UNIT_MS[unit];
  const count = Math.ceil((untilMs - sinceMs) / unitMs);
  const valuesFrom = (startMs: number, { rows }: UsageReport, value: (row: UsageRow) => number) =>
    valuesAt(
      rows,
      count,
      ({ group }) => Math.floor((Date.parse(group[unit] ?? "") - startMs) / unitMs),
      value,
    );
  const succeeded = valuesFrom(sinceMs, overTime, ({ requests, errors }) => requests - errors);
  const failed = valuesFrom(sinceMs, overTime, ({ errors }) => errors);
  const earlier = valuesFrom(sinceMs - shiftMs, before, ({ requests }) => requests);
  const series: Series[] = [{ name: "succeeded", values: succeeded }];
  if (failed.some((value) => value > 0)) {
    series.push({ name: "failed", values: failed, tone: "bad" });
  }
  return {
    title: `Requests by ${unit}`,
    unit: "requests",
    span: unit,
    slots: timeSlots(succeeded.map((_, at) => sinceMs + at * unitMs), unit),
    series,
    before: earlier.some((value) => value > 0)
      ? { name: "period before", values: earlier }
      : undefined,
  };
}
