import type { ChartProps } from "../../../src/doors/console/chart.tsx";
import {
  type OverviewFigures,
  requestsChart,
  spendChart,
} from "../../../src/doors/console/operator/overview_figures.ts";
import { DAY_MS, HOUR_MS } from "../../../src/ground/time.ts";
import { assertEquals } from "../../assert.ts";

const NONE = {
  requests: 0,
  errors: 0,
  input_tokens: 0,
  cached_tokens: 0,
  cache_hit_rate: 0,
  output_tokens: 0,
  credits: 0,
  saved_credits: 0,
  average_ms: 0,
};
const SINCE_MS = Date.UTC(2026, 10, 20);
const DAYS = { unit: "day", sinceMs: SINCE_MS, untilMs: SINCE_MS + DAY_MS + 13 * HOUR_MS } as const;

interface Used {
  readonly model?: string;
  readonly isOthers?: boolean;
  readonly requests?: number;
  readonly errors?: number;
  readonly credits?: number;
}

/** Two days of November, and those before, with rows by their days. */
function figuresOf(
  { overTime = [], before = [] }: Partial<
    Readonly<Record<"overTime" | "before", readonly (readonly [day: number, Used])[]>>
  >,
): OverviewFigures {
  const reportOf = (by: readonly string[], used: typeof overTime, agoMs: number) => ({
    since: new Date(SINCE_MS - agoMs).toISOString(),
    until: new Date(DAYS.untilMs - agoMs).toISOString(),
    zone: "UTC",
    rounded: false,
    by,
    rows: used.map(([day, { model, isOthers = false, ...figures }]) => ({
      ...NONE,
      ...figures,
      group: { day: `2026-11-${day}`, ...(model === undefined ? {} : { model }) },
      names: {},
      isOthers,
    })),
    totals: { ...NONE, credits: used.reduce((sum, [, { credits = 0 }]) => sum + credits, 0) },
  });
  const latency = {
    requests: 0,
    sinceMs: undefined,
    p50Ms: undefined,
    p95Ms: undefined,
    firstTokenP95Ms: undefined,
  };
  return {
    span: { ...DAYS, shiftMs: 2 * DAY_MS },
    overTime: reportOf(["day", "model"], overTime, 0),
    before: reportOf(["day"], before, 2 * DAY_MS),
    models: reportOf(["model"], [], 0),
    accounts: reportOf(["account"], [], 0),
    latency,
    latencyBefore: latency,
  };
}

/** Values by name; with what is in no bar, if there is anything. */
const seriesOf = ({ series, before }: ChartProps) =>
  [...series, ...before ? [before] : []]
    .map(({ name, values }) => `${name} ${JSON.stringify({ ...values })}`);

Deno.test("requests of an overview are in the bars of their days, and what is of no bar in none", () => {
  const chart = requestsChart(figuresOf({
    overTime: [
      [19, { requests: 1_000, errors: 100 }],
      [20, { requests: 5 }],
      [20, { requests: 2, errors: 1 }],
      [21, { requests: 7, errors: 3 }],
      [22, { requests: 1_000, errors: 100 }],
    ],
    before: [
      [17, { requests: 1_000 }],
      [18, { requests: 4 }],
      [19, { requests: 6 }],
      [20, { requests: 1_000 }],
    ],
  }));
  assertEquals(chart.slots.map(({ label }) => label), ["20 Nov", "21 Nov"]);
  assertEquals(seriesOf(chart), [
    'succeeded {"0":6,"1":4}',
    'failed {"0":1,"1":3}',
    'period before {"0":4,"1":6}',
  ]);
  assertEquals(seriesOf(requestsChart(figuresOf({ overTime: [[21, { requests: 1 }]] }))), [
    'succeeded {"0":0,"1":1}',
  ]);
});

Deno.test("credits of an overview are by model, then those of all others, each in the bar of its day", () => {
  const chart = (figures: Parameters<typeof figuresOf>[0]) =>
    seriesOf(spendChart(figuresOf(figures))!);
  const named = [[20, { model: "a", credits: 3 }], [21, { model: "b", credits: 4 }]] as const;
  const free = [20, { model: "free", credits: 0, requests: 9 }] as const;
  const others = (day: number, credits: number) => [day, { credits, isOthers: true }] as const;
  assertEquals(
    chart({
      overTime: [...named, free, others(19, 50), others(20, 5), others(21, 6), others(22, 50)],
      before: [[18, { credits: 8 }]],
    }),
    [
      'b {"0":0,"1":4}',
      'a {"0":3,"1":0}',
      'all others {"0":5,"1":6}',
      'period before {"0":8,"1":0}',
    ],
  );
  assertEquals(chart({ overTime: [...named, others(20, 0)], before: [[18, { requests: 8 }]] }), [
    'b {"0":0,"1":4}',
    'a {"0":3,"1":0}',
  ]);
  assertEquals(chart({ overTime: [free] }), ['none {"0":0,"1":0}']);
});
