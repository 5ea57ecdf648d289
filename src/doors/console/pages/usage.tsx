import type { Team } from "../../../people/accounts/mod.ts";
import {
  type Dimension,
  reasonWords,
  type UsageFigures,
  type UsageReport,
  type UsageRow,
} from "../../../money/usage/mod.ts";
import { Chart, type ChartProps, Stat, Table } from "../components.tsx";
import {
  compact,
  date,
  duration,
  hour,
  inZone,
  month,
  number,
  signed as signedNumber,
  teamWords,
} from "../format.ts";
import { groupName, MAX_BARS } from "../usage_chart.ts";
import { Layout, type PageContext } from "../layout.tsx";
import { Choices, queryOf, type UsageChoices } from "../usage_choices.tsx";
import { DAY_MS } from "../../../ground/time.ts";

const BY_TIME: readonly Dimension[] = ["day", "hour", "month"];
/** Rows of a table, of which a thousand are a megabyte; downloads have all of them. */
const MAX_ROWS = 200;
/** From here on a figure is shown in short. */
const MANY = 1e9;

/** A change beyond this is from next to nothing. */
const MAX_CHANGE_PERCENT = 999;

/** Usage of a range as figures, a chart and a table. */
export function UsagePage(
  { page, choices, report, chart, error, seesAll, lastMonth, team, nowMs }: {
    page: PageContext;
    nowMs: number;
    choices: UsageChoices;
    /** Undefined if it could not be made. */
    report: UsageReport | undefined;
    /** Its credits over time; undefined for what has no chart. */
    chart?: ChartProps | undefined;
    error?: string | undefined;
    /** Whether the visitor may see the usage of all accounts. */
    seesAll: boolean;
    /** The month before this one and this one, such as `2026-10` and `2026-11`. */
    lastMonth: readonly [since: string, until: string];
    /** The team that it is of, if the address has its ID. */
    team: Team | undefined;
  },
) {
  return (
    <Layout page={page} title="Usage">
      {team === undefined ? null : (
        <p>
          What <a href={`/console/teams/${team.id}`}>{teamWords(team.name)}</a> used.{" "}
          <a href={`/console/usage?${queryOf(choices, { team: "", by: "day" })}`}>
            What your own account used
          </a>
        </p>
      )}
      <Choices choices={choices} seesAll={seesAll} lastMonth={lastMonth} />
      {error === undefined ? null : <p class="error" role="alert">{error}</p>}
      {report === undefined ? null : (
        <Report
          report={report}
          chart={chart}
          choices={choices}
          hasRequests={seesAll || choices.team === ""}
          nowMs={nowMs}
          hasTeams={(page.session?.teams.size ?? 0) > 0 && team === undefined}
        />
      )}
    </Layout>
  );
}

function Report(
  { report, chart, choices, hasRequests, nowMs, hasTeams }: {
    report: UsageReport;
    chart: ChartProps | undefined;
    choices: UsageChoices;
    /** Whether the visitor may see the requests that it is of, not only their sums; entries are those of accounts, not of teams. */
    hasRequests: boolean;
    nowMs: number;
    /** Whether the visitor is in teams, whose usage is not part of this. */
    hasTeams: boolean;
  },
) {
  const { rows, totals, by, since, until, zone, rounded, previous } = report;
  const words = `${rangeText({ since, until }, zone, nowMs)} ${zone}`;
  const { requests } = totals;
  const tokens = totals.input_tokens + totals.output_tokens;
  const change = (name: "requests" | "credits") => {
    const percentage = totals.change?.[name];
    if (percentage === undefined || totals.previous === undefined) return "";
    return percentage === null || Math.abs(percentage) > MAX_CHANGE_PERCENT
      ? `; ${number(totals.previous[name])} before`
      : `; ${signed(percentage)} against before`;
  };
  const isOfFailures = by.includes("reason");
  const compared = isOfFailures ? "requests" : "credits";
  const isShown = (name: string) =>
    isOfFailures ? OF_FAILURES.includes(name) : previous === undefined || !AVERAGES.includes(name);
  const failed = Object.entries(totals.failures ?? {}).toSorted(([, a], [, b]) => b - a);
  const sorted = newestFirst(rows, by);
  const shown = sorted.slice(0, MAX_ROWS);
  const perRequest = requests === 0
    ? undefined
    : `${number(Math.round(tokens / requests))} per request`;
  return (
    <>
      <p class="quiet">
        {words}. {rounded ? "Bounds were rounded down to the hour: roll-ups are hourly. " : ""}
        {previous === undefined ? "" : `Compared with ${rangeText(previous, zone, nowMs)}. `}
        <a href={`/console/usage?${queryOf(choices, { compare: previous === undefined })}`}>
          {previous === undefined ? "Compare with the period before" : "Do not compare"}
        </a>. Download <a href={`/console/usage.csv?${queryOf(choices)}`}>this report</a>
        {!hasRequests ? null : (
          <>
            , <a href={`/console/usage/requests.csv?${queryOf(choices)}`}>its requests</a>
            {choices.team !== "" ? null : (
              <>
                {" "}or{" "}
                <a href={`/console/usage/entries.csv?${queryOf(choices, { tag: "" })}`}>
                  ledger entries
                </a>
              </>
            )}
          </>
        )} as CSV.
      </p>
      <dl class="stats">
        {isOfFailures
          ? (
            <Stat
              name="Failed requests"
              value={requests}
              note={change("requests").slice(2)}
            />
          )
          : (
            <>
              <Stat name="Credits" value={totals.credits} note={change("credits").slice(2)} />
              <Stat
                name="Requests"
                value={requests}
                note={`${number(totals.errors)} failed${change("requests")}`}
              />
              <Stat
                name="Tokens"
                value={tokens < MANY ? tokens : compact(tokens)}
                note={[
                  ...(tokens < MANY ? [] : [number(tokens)]),
                  ...(perRequest === undefined ? [] : [perRequest]),
                ].join("; ")}
              />
              <Stat
                name="Saved by prompt caches"
                value={totals.saved_credits}
                note={`${totals.saved_credits === 1 ? "credit" : "credits"}; ${
                  Math.round(100 * totals.cache_hit_rate)
                }\u00a0% of the input was cached`}
              />
            </>
          )}
      </dl>
      {failed.length === 0 ? null : (
        <p>
          Failed requests:{" "}
          {failed.map(([reason, count]) => `${number(count)} ${reasonWords(reason)}`).join(", ")}.
        </p>
      )}
      {chart !== undefined && hasValues(chart) ? <Chart {...chart} /> : null}
      {chart === undefined && by.length < 3 &&
        by.some((one) => BY_TIME.some((time) => time === one)) && (
        <p class="quiet">For a chart, choose a shorter range: it has up to {MAX_BARS} bars.</p>
      )}
      <Table<UsageRow>
        caption={`Usage by ${by.join(" and ")}, ${words}`}
        rows={shown}
        empty={
          <>
            No {isOfFailures ? "failed requests" : "requests"} in this period.
            {hasTeams && (
              <>
                {" "}
                <a href="/console/teams">Teams</a> have reports of their own.
              </>
            )}
          </>
        }
        columns={[
          ...by.map((one) => ({
            // hours are those of the report, not of the reader
            name: one === "hour" ? `hour (${zone})` : one.replace(":", " "),
            cell: (row: UsageRow) => timeOf(one, row.group[one], zone) || groupName(row, one),
          })),
          ...FIGURES.filter(([name]) => isShown(name)).map(([name, figure, format = number]) => ({
            name,
            numeric: true,
            ...(name === compared ? { role: "figure" as const } : {}),
            cell: (row: UsageRow) => format(figure(row)),
          })),
          ...(previous === undefined ? [] : [
            {
              name: `${compared} before`,
              numeric: true,
              cell: (row: UsageRow) => number(row.previous?.[compared] ?? 0),
            },
            {
              name: "change",
              numeric: true,
              cell: (row: UsageRow) => {
                const isNothing = row[compared] === 0 && (row.previous?.[compared] ?? 0) === 0;
                return isNothing ? "–" : signed(row.change?.[compared] ?? null);
              },
            },
          ]),
        ]}
      />
      {shown.length === sorted.length ? null : (
        <p class="quiet">
          The first {number(shown.length)} of {number(sorted.length)} rows;{" "}
          <a href={`/console/usage.csv?${queryOf(choices)}`}>the report</a> has all of them.
        </p>
      )}
    </>
  );
}

/** Whether a chart has anything to show: requests may have cost nothing. */
function hasValues({ series }: ChartProps): boolean {
  return series.some(({ values }) => values.some((value) => value > 0));
}

/** Rows of a report by time with the newest first; those of one time stay in their order. */
function newestFirst(rows: readonly UsageRow[], [first]: readonly string[]): readonly UsageRow[] {
  if (!BY_TIME.some((one) => one === first)) return rows;
  const atMs = ({ group }: UsageRow) => Date.parse(group[first!] ?? "");
  return rows.toSorted((a, b) => atMs(b) - atMs(a));
}

/** A time by which a report is grouped, in the one format of the console. */
function timeOf(by: string, text: string | undefined, zone: string): string {
  const ms = Date.parse(text ?? "");
  if (Number.isNaN(ms)) return "";
  switch (by) {
    case "hour":
      return minuteText(ms, zone);
    case "day":
      return date(ms);
    case "month":
      return month(ms);
    default:
      return "";
  }
}

/** A range in a time zone: the last moment of one that ends at midnight is the day before. */
function rangeText(
  { since, until }: Pick<UsageReport, "since" | "until">,
  zone: string,
  nowMs: number,
): string {
  const [first, end] = [inZone(Date.parse(since), zone), inZone(Date.parse(until), zone)];
  const isDays = [first, end].every((ms) => ms % DAY_MS === 0);
  return isDays
    ? `${date(first)} to ${date(end - 1)}`
    : `${minuteText(Date.parse(since), zone)} to ${
      Date.parse(until) > nowMs ? "now" : minuteText(Date.parse(until), zone)
    }`;
}

function minuteText(ms: number, zone: string): string {
  const local = inZone(ms, zone);
  return `${date(local)}, ${hour(local)}`;
}

/** Figures that have no room beside a comparison on a laptop; the downloads have them. */
const AVERAGES: readonly string[] = ["tokens per request", "average time"];

/** What a report of failed requests shows: they have cost nothing. */
const OF_FAILURES: readonly string[] = ["requests", "average time"];

const FIGURES: readonly (readonly [
  name: string,
  figure: (row: UsageFigures) => number,
  format?: (value: number) => string,
])[] = [
  ["requests", ({ requests }) => requests],
  ["failed", ({ errors }) => errors],
  ["input", ({ input_tokens }) => input_tokens],
  ["cached", ({ cached_tokens }) => cached_tokens],
  ["saved", ({ saved_credits }) => saved_credits],
  ["output", ({ output_tokens }) => output_tokens],
  [
    "tokens per request",
    ({ input_tokens, output_tokens, requests }) =>
      requests === 0 ? 0 : Math.round((input_tokens + output_tokens) / requests),
  ],
  ["average time", ({ average_ms }) => average_ms, duration],
  ["credits", ({ credits }) => credits],
];

function signed(percentage: number | null): string {
  if (percentage === null) return "new";
  if (percentage > MAX_CHANGE_PERCENT) return `over ${signedNumber(MAX_CHANGE_PERCENT)} %`;
  return `${signedNumber(percentage)} %`;
}
