import type { UsagePoint } from "../usage/mod.ts";
import { type ChartProps, MAX_SERIES } from "./chart.tsx";
import { type Series, timeSlots, topSeries } from "./chart_scale.ts";
import { count as countOf } from "./format.ts";

const SPAN_MS = { hour: 3_600_000, day: 86_400_000 } as const;

/** What a chart of usage is made with. */
export interface UsageChartOptions {
  readonly title: string;
  /** Default: `credits`. Requests are told apart by whether they failed. */
  readonly unit?: "credits" | "requests";
  readonly span: "hour" | "day";
  /** Number of hours or days, the current one included. */
  readonly count: number;
  readonly nowMs: number;
  /** Name of the series of a point's model or key. */
  readonly nameOf: (name: string) => string;
}

/**
 * Arranges usage as a chart of the last hours or UTC days, with the same number of them before as comparison.
 *
 * @param points Usage of twice that time; times without any may be missing.
 */
export function usageChart(
  points: readonly UsagePoint[],
  { title, unit = "credits", span, count, nowMs, nameOf }: UsageChartOptions,
): ChartProps {
  const spanMs = SPAN_MS[span];
  const firstMs = (Math.floor(nowMs / spanMs) - count + 1) * spanMs;
  const starts = Array.from({ length: count }, (_, at) => firstMs + at * spanMs);
  const named = new Map<string, number[]>();
  const [failed, before] = [new Array<number>(count).fill(0), new Array<number>(count).fill(0)];
  for (const { atMs, name, requests, errors, credits } of points) {
    const at = Math.floor((atMs - firstMs) / spanMs);
    if (at >= count || at < -count) continue;
    if (at < 0) {
      before[at + count]! += unit === "credits" ? credits : requests;
      continue;
    }
    const values = named.get(name) ?? new Array<number>(count).fill(0);
    named.set(name, values);
    values[at]! += unit === "credits" ? credits : requests - errors;
    failed[at]! += errors;
  }
  const series: Series[] = [...named].map(([name, values]) => ({ name: nameOf(name), values }));
  const hasFailed = unit === "requests" && failed.some((value) => value > 0);
  const hasBefore = before.some((value) => value > 0);
  return {
    title,
    unit,
    span,
    slots: timeSlots(starts, span),
    series: [
      ...topSeries(series, MAX_SERIES),
      ...(hasFailed ? [{ name: "failed", values: failed, tone: "bad" as const }] : []),
    ],
    before: hasBefore ? { name: `${countOf(count, span)} before`, values: before } : undefined,
  };
}
