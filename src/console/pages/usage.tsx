import {
  cacheHitRate,
  daysSince,
  type Grouping,
  GROUPINGS,
  hoursSince,
  type ReportRow,
  type UsagePoint,
} from "../../usage/mod.ts";
import { Chart, Stat, Table } from "../components.tsx";
import { date, hour, number } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";
import { usageChart } from "../usage_chart.ts";

const EMPTY = {
  requests: 0,
  errors: 0,
  input_tokens: 0,
  cached_tokens: 0,
  output_tokens: 0,
  saved_credits: 0,
  credits: 0,
};

/** Period of a grouping. */
interface Period {
  readonly since: (nowMs: number) => number;
  readonly words: string;
  readonly span: "day" | "hour";
  /** Number of days or hours. */
  readonly count: number;
}

const DAYS: Period = {
  since: (nowMs) => daysSince(nowMs, 30),
  words: "30 days",
  span: "day",
  count: 30,
};
const HOURS: Period = {
  since: (nowMs) => hoursSince(nowMs, 48),
  words: "48 hours",
  span: "hour",
  count: 48,
};

/** Period of each grouping, in UTC days and hours as in `GET /user/credits`. */
export const PERIODS: Readonly<Record<Grouping, Period>> = {
  day: DAYS,
  hour: HOURS,
  model: DAYS,
  key: DAYS,
};

/** An account's usage as a chart and a table. */
export function UsagePage(
  { page, by, rows, points, names, nowMs }: {
    page: PageContext;
    by: Grouping;
    rows: readonly ReportRow[];
    /** The same over time, and that of the period before. */
    points: readonly UsagePoint[];
    /** Names of keys by ID. */
    names: ReadonlyMap<string, string>;
    nowMs: number;
  },
) {
  const total = (name: keyof typeof EMPTY) => rows.reduce((sum, row) => sum + row[name], 0);
  const requests = total("requests");
  const tokens = total("input_tokens") + total("output_tokens");
  const hitRate = cacheHitRate({
    input_tokens: total("input_tokens"),
    cached_tokens: total("cached_tokens"),
  });
  const isTime = by === "day" || by === "hour";
  const name = (group: string) => {
    if (!isTime) return names.get(group) ?? group;
    const atMs = Date.parse(group);
    return by === "day" ? date(atMs) : `${date(atMs)}, ${hour(atMs)} UTC`;
  };
  const { words, span, count } = PERIODS[by];
  return (
    <Layout page={page} title="Usage">
      <nav class="tabs" aria-label="Grouping">
        {GROUPINGS.map((one) => (
          <a href={`/console/usage?by=${one}`} aria-current={one === by ? "page" : undefined}>
            by {one}
          </a>
        ))}
        <a href={`/console/usage.csv?by=${by}`} download={`usage-by-${by}.csv`}>Download CSV</a>
      </nav>
      <dl class="stats">
        <Stat name={`Credits, ${words}`} value={total("credits")} />
        <Stat name="Requests" value={requests} note={`${number(total("errors"))} failed`} />
        <Stat name="Tokens" value={tokens} />
        <Stat
          name="Saved by prompt caches"
          value={total("saved_credits")}
          note={`credits; ${percent(hitRate)} of the input was cached`}
        />
        <Stat
          name="Tokens per request"
          value={requests === 0 ? 0 : Math.round(tokens / requests)}
        />
      </dl>
      {rows.length === 0 ? null : (
        <Chart
          {...usageChart(points, {
            title: isTime ? `Credits by ${by}, ${words}` : `Credits by day and ${by}, ${words}`,
            span,
            count,
            nowMs,
            nameOf: isTime ? () => "credits" : name,
          })}
        />
      )}
      <Table<ReportRow>
        caption={`Usage by ${by}, ${words}`}
        rows={isTime ? rows.toReversed() : rows.toSorted((a, b) => b.credits - a.credits)}
        empty="No requests in this period."
        columns={[
          { name: by, cell: ({ group }) => name(group) },
          { name: "requests", numeric: true, cell: ({ requests }) => number(requests) },
          { name: "failed", numeric: true, cell: ({ errors }) => number(errors) },
          { name: "input", numeric: true, cell: ({ input_tokens }) => number(input_tokens) },
          { name: "cached", numeric: true, cell: ({ cached_tokens }) => number(cached_tokens) },
          { name: "saved", numeric: true, cell: ({ saved_credits }) => number(saved_credits) },
          { name: "output", numeric: true, cell: ({ output_tokens }) => number(output_tokens) },
          {
            name: "tokens per request",
            numeric: true,
            cell: (row) =>
              number(Math.round((row.input_tokens + row.output_tokens) / row.requests)),
          },
          {
            name: "credits",
            role: "figure",
            numeric: true,
            cell: ({ credits }) => number(credits),
          },
        ]}
      />
    </Layout>
  );
}

function percent(part: number): string {
  return `${Math.round(100 * part)} %`;
}

/**
 * Formats a usage report as CSV (RFC 4180).
 *
 * @param names Names of keys by ID; the ID has a column of its own.
 */
export function usageCsv(
  by: Grouping,
  rows: readonly ReportRow[],
  names: ReadonlyMap<string, string>,
): string {
  const columns = Object.keys(EMPTY) as (keyof typeof EMPTY)[];
  const groups = ({ group }: ReportRow) =>
    by === "key" ? [cell(names.get(group) ?? group), cell(group)] : [cell(group)];
  const lines = rows.map((row) => [...groups(row), ...columns.map((name) => row[name])].join(","));
  const head = [...(by === "key" ? ["key", "key_id"] : [by]), ...columns].join(",");
  return [head, ...lines].join("\r\n") + "\r\n";
}

/** Quotes a cell if needed, and prefixes text that a spreadsheet would evaluate as a formula. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
