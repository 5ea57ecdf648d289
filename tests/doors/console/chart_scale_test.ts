import * as fc from "fast-check";
import {
  labelStep,
  type Series,
  stackTotals,
  ticksFor,
  timeSlots,
  topSeries,
  totalOf,
} from "../../../src/doors/console/chart_scale.ts";
import { compact } from "../../../src/doors/console/format.ts";
import { NONE } from "../../../src/money/usage/rows.ts";
import {
  groupName,
  reportChart,
  requestsChart,
  spanFor,
  type TimeReport,
} from "../../../src/doors/console/usage_chart.ts";
import { assert, assertEquals } from "../../assert.ts";

const counts = fc.oneof(fc.nat({ max: 20 }), fc.nat(), fc.maxSafeNat());
const seriesOf = (slots: number) =>
  fc.array(
    fc.record({
      name: fc.string({ minLength: 1, maxLength: 8 }),
      values: fc.array(fc.nat({ max: 1_000_000 }), { minLength: slots, maxLength: slots }),
    }),
    { maxLength: 12 },
  );
const stacks = fc.nat({ max: 40 }).chain((slots) => seriesOf(slots));

Deno.test("ticks are round, even, few, and cover the data", () => {
  fc.assert(fc.property(counts, (highest) => {
    const ticks = ticksFor(highest);
    assert(ticks.length >= 2 && ticks.length <= 6, `${ticks.length} ticks`);
    assertEquals(ticks[0], 0);
    assert(ticks.at(-1)! >= highest, "covers the data");
    const step = ticks[1]!;
    assert(/^[125]0*$/.test(BigInt(step).toString()), `a step of ${step}`);
    assert(ticks.every((tick, at) => tick === at * step), "even");
    assert(highest === 0 || ticks.at(-2)! < highest, "no more than needed");
  }));
});

Deno.test("ticks of shares have no rounding errors, and labels of an axis tell its ticks apart", () => {
  assertEquals(ticksFor(0.3, 0.01), [0, 0.1, 0.2, 0.3]);
  fc.assert(fc.property(counts, (highest) => {
    const labels = ticksFor(highest).map(compact);
    assertEquals(new Set(labels).size, labels.length, String(labels));
    assert(labels.every((label) => label.length <= 6), String(labels));
  }));
});

Deno.test("the top series and the others add up to all of them", () => {
  fc.assert(fc.property(stacks, fc.integer({ min: 1, max: 8 }), (series, max) => {
    const top = topSeries(series, max);
    assert(top.length <= max + 1);
    assertEquals(stackTotals(top), stackTotals(series));
    const sum = (some: readonly Series[]) => some.reduce((all, one) => all + totalOf(one), 0);
    assertEquals(sum(top), sum(series));
    const named = top.filter(({ tone }) => tone !== "others").map(totalOf);
    assertEquals(named, named.toSorted((a, b) => b - a), "highest first");
    assertEquals(top.slice(0, -1).some(({ tone }) => tone === "others"), false, "others come last");
  }));
});

Deno.test("series of equal totals are by name, and as many as there may be have no others", () => {
  const series = (names: string) => [...names].map((name) => ({ name, values: [0, 2] }));
  const names = (max: number) => topSeries(series("bdac"), max).map(({ name }) => name);
  assertEquals(names(5), ["a", "b", "c", "d"]);
  assertEquals(names(4), ["a", "b", "c", "d"]);
  assertEquals(names(2), ["a", "b", "2 others"]);
  assertEquals(names(3), ["a", "b", "c", "1 other"]);
  assertEquals(topSeries(series("bdac"), 2).at(-1), {
    name: "2 others",
    values: [0, 4],
    tone: "others",
  });
});

Deno.test("up to the wanted number of labels, and as many on a narrow screen that wide ones have too", () => {
  fc.assert(fc.property(
    fc.integer({ min: 1, max: 2_000 }),
    fc.constantFrom("hour" as const, "day" as const, "month" as const),
    fc.integer({ min: 1, max: 12 }),
    (count, span, max) => {
      const step = labelStep(count, { span, max });
      assert(step >= 1 && Math.ceil(count / step) <= max);
    },
  ));
});

Deno.test("times of an axis are in UTC; an hour at midnight names its day", () => {
  const midnight = Date.UTC(2026, 10, 21);
  assertEquals(timeSlots([midnight, midnight + 3_600_000], "hour"), [
    { label: "21 Nov", title: "21 Nov 2026, 00:00 UTC" },
    { label: "01:00", title: "21 Nov 2026, 01:00 UTC" },
  ]);
  assertEquals(timeSlots([midnight], "day"), [{ label: "21 Nov", title: "21 Nov 2026" }]);
  assertEquals(timeSlots([midnight], "month"), [{ label: "Nov 2026", title: "Nov 2026" }]);
});

Deno.test("a chart of requests has these days, those before, and nothing from elsewhere", () => {
  const dayMs = 86_400_000;
  const today = Date.UTC(2026, 10, 21);
  const chartOf = (requestsByDaysAgo: Readonly<Record<string, number>>) =>
    requestsChart(
      Object.entries(requestsByDaysAgo).map(([daysAgo, requests]) => ({
        ...NONE,
        day: today - Number(daysAgo) * dayMs,
        requests,
        errors: 1,
      })),
      { title: "", days: 2, nowMs: today + dayMs - 1 },
    );
  // before the days before; and of a clock that went back
  const chart = chartOf({ "4": 1_000, "3": 7, "2": 8, "1": 3, "0": 4, "-1": 1_000 });
  assertEquals(chart.series.map(({ name, values }) => [name, ...values]), [
    ["succeeded", 2, 3],
    ["failed", 1, 1],
  ]);
  assertEquals(chart.before, { name: "2 days before", values: [7, 8] });
  assertEquals(chartOf({ "1": 1 }).series.map(({ name, values }) => [name, ...values]), [
    ["succeeded", 0, 0],
    ["failed", 1, 0],
  ]);
  assertEquals(chartOf({ "4": 5 }).series, []);
  assertEquals(chartOf({}).before, undefined);
});

/** A report with rows of a time, and of a noun if it is given. */
function reportOf(
  { since, until, zone = "UTC", by }: Pick<TimeReport, "since" | "until" | "by"> & {
    zone?: string;
  },
  rows: readonly (readonly [time: string, credits: number, name?: string])[],
): TimeReport {
  const [span, noun] = by as [string, string?];
  const none = {
    requests: 1,
    errors: 0,
    input_tokens: 0,
    cached_tokens: 0,
    cache_hit_rate: 0,
    output_tokens: 0,
    saved_credits: 0,
    average_ms: 0,
    names: {},
    isOthers: false,
  };
  return {
    since,
    until,
    zone,
    by,
    rows: rows.map(([time, credits, name = ""]) => ({
      ...none,
      credits,
      group: { [span]: time, ...(noun === undefined ? {} : { [noun]: name }) },
    })),
  };
}

Deno.test("a chart of a report has a bar for each hour, day or month of its range, in its zone", () => {
  const days = {
    since: "2026-03-28T23:00Z",
    until: "2026-03-31T22:00Z",
    by: ["day", "model"],
  } as const;
  const chart = reportChart(
    reportOf({ ...days, zone: "Europe/Berlin" }, [["2026-03-29", 5, "a"], ["2026-03-31", 7, "b"]]),
    reportOf({
      since: "2026-03-25T23:00Z",
      until: "2026-03-28T23:00Z",
      zone: "Europe/Berlin",
      by: ["day"],
    }, [["2026-03-26", 1], ["2026-03-28", 3]]),
  )!;
  assertEquals(chart.slots.map(({ label }) => label), ["29 Mar", "30 Mar", "31 Mar"]);
  assertEquals(chart.series.map(({ name, values }) => [name, ...values]), [
    ["b", 0, 0, 7],
    ["a", 5, 0, 0],
  ]);
  assertEquals(chart.before?.values, [1, 0, 3]);
  const hours = reportChart(
    reportOf({ since: "2026-11-21T22:00Z", until: "2026-11-22T01:00Z", by: ["hour"] }, [
      ["2026-11-21T23:00Z", 4],
    ]),
  )!;
  assertEquals(hours.series[0]!.values, [0, 4, 0]);
  const inKolkata = reportChart(
    reportOf(
      {
        since: "2026-11-21T17:00Z",
        until: "2026-11-21T20:00Z",
        by: ["hour"],
        zone: "Asia/Kolkata",
      },
      [["2026-11-21T18:00Z", 4]],
    ),
  )!;
  assertEquals(inKolkata.series[0]!.values, [0, 4, 0]);
  assertEquals(inKolkata.zone, "Asia/Kolkata");
  assertEquals(inKolkata.slots.map(({ label, title }) => [label, title]), [
    ["22:30", "21 Nov 2026, 22:30 Asia/Kolkata"],
    ["23:30", "21 Nov 2026, 23:30 Asia/Kolkata"],
    ["22 Nov", "22 Nov 2026, 00:30 Asia/Kolkata"],
  ]);
  const months = reportChart(
    reportOf({ since: "2025-12-01T00:00Z", until: "2026-02-10T00:00Z", by: ["month"] }, [
      ["2025-12", 1],
      ["2026-02", 2],
    ]),
  )!;
  assertEquals(months.slots.map(({ label }) => label), ["Dec 2025", "Jan 2026", "Feb 2026"]);
  assertEquals(months.series[0]!.values, [1, 0, 2]);
});

Deno.test("what is before or behind the range of a report is in no bar", () => {
  const of = (since: string, until: string, days: readonly string[]) =>
    reportOf({ since, until, by: ["day"] }, days.map((day, at) => [day, 10 ** at]));
  const chart = reportChart(
    of("2026-03-10T00:00Z", "2026-03-12T00:00Z", [
      "2026-03-09",
      "2026-03-10",
      "2026-03-11",
      "2026-03-12",
    ]),
    of("2026-03-08T00:00Z", "2026-03-10T00:00Z", [
      "2026-03-07",
      "2026-03-08",
      "2026-03-09",
      "2026-03-10",
    ]),
  )!;
  const all = (values: readonly number[]) => JSON.stringify({ ...values });
  assertEquals(chart.series.map(({ values }) => all(values)), [all([10, 100])]);
  assertEquals(all(chart.before!.values), all([10, 100]));
});

Deno.test("a chart has series by their IDs, whatever their names are", () => {
  const range = { since: "2026-11-21T00:00Z", until: "2026-11-22T00:00Z" };
  const report = reportOf({ ...range, by: ["day", "team"] }, [
    ["2026-11-21", 4, "team_1"],
    ["2026-11-21", 2, "team_2"],
  ]);
  const rows = report.rows.map((row) => ({ ...row, names: { team: "Platform" } }));
  const series = (labels?: ReadonlyMap<string, string>) =>
    reportChart({ ...report, rows }, undefined, labels)!.series
      .map(({ name, values }) => [name, ...values]);
  assertEquals(series(), [["Platform", 4], ["Platform", 2]]);
  assertEquals(series(new Map([["team_2", "Platform (team_2)"]]))[1], ["Platform (team_2)", 2]);
});

Deno.test("a group has its name, else its ID; reasons have words", () => {
  const group = { reason: "upstream_unavailable", key: "key_1", model: "" };
  const name = (by: string, names = {}) => groupName({ group, names }, by);
  assertEquals(name("reason"), "upstream unavailable");
  assertEquals(name("key"), "key_1");
  assertEquals(name("key", { key: "upstream_unavailable" }), "upstream_unavailable");
  assertEquals([name("model"), name("tag:project")], ["none", "none"]);
});

Deno.test("what has no time, two nouns or too many bars has no chart", () => {
  const range = { since: "2026-01-01T00:00Z", until: "2026-11-01T00:00Z" };
  assertEquals(reportChart(reportOf({ ...range, by: ["model"] }, [])), undefined);
  assertEquals(reportChart(reportOf({ ...range, by: ["day"] }, [])), undefined);
  assertEquals(reportChart(reportOf({ ...range, by: ["day", "model", "key"] }, [])), undefined);
  const short = { since: "2026-01-01T00:00Z", until: "2026-01-03T00:00Z" };
  assertEquals(reportChart(reportOf({ ...short, by: ["day", "model", "key"] }, [])), undefined);
  const days = (count: number) => ({
    since: "2026-01-01T00:00Z",
    until: new Date(Date.UTC(2026, 0, 1 + count)).toISOString(),
  });
  for (const [count, isChart] of [[100, true], [101, false]] as const) {
    const chart = reportChart(reportOf({ ...days(count), by: ["day"] }, []));
    assertEquals(chart !== undefined, isChart, `${count} bars`);
  }
  assertEquals([3, 4, 100, 101, 3_000, 3_001].map((count) => spanFor(days(count))), [
    "hour",
    "day",
    "day",
    "month",
    "month",
    undefined,
  ]);
  assertEquals(spanFor(range), "month");
  assertEquals(spanFor({ since: "2026-01-01T00:00Z", until: "2026-01-03T00:00Z" }), "hour");
  assertEquals(spanFor({ since: "2026-01-01T00:00Z", until: "2026-02-01T00:00Z" }), "day");
  assertEquals(spanFor({ since: "1970-01-01T00:00Z", until: "2026-01-03T00:00Z" }), undefined);
});
