import { type ActivityState, hourOf, type UpstreamState } from "../../../requests/upstreams/mod.ts";
import { Badge, type Column, Name, Table } from "../components.tsx";
import { duration, number, share } from "../format.ts";
import { Sparkline } from "../sparkline.tsx";

/** Minutes in which failures say something of the present. */
const RECENT_MINUTES = 10;
/** Share of attempts that may fail, and attempts from which on it counts. */
const MAX_FAILED_SHARE = 0.1;
const MIN_ATTEMPTS = 10;

/** The share of attempts that failed in the last minutes, if it is too high. */
function failedShare({ activity }: Pick<UpstreamState, "activity">): string | undefined {
  const recent = activity.minutes.slice(-RECENT_MINUTES);
  const attempts = recent.reduce((sum, one) => sum + one.attempts, 0);
  const failed = recent.reduce((sum, one) => sum + one.failed, 0);
  const isHigh = attempts >= MIN_ATTEMPTS && failed > attempts * MAX_FAILED_SHARE;
  return isHigh ? share(failed, attempts) : undefined;
}

/** What the circuits of an upstream's models, its last minutes and its last request say of it. */
export function UpstreamBadge(upstream: UpstreamState) {
  const { resting, state, failingModels } = upstream;
  if (resting) return <Badge tone="bad">cooling down</Badge>;
  if (failingModels.length > 0) return <Badge tone="bad">circuit open</Badge>;
  const failed = failedShare(upstream);
  if (failed !== undefined) return <Badge tone="bad">{failed} fail</Badge>;
  switch (state) {
    case "unknown":
      return <Badge tone="calm">not used yet</Badge>;
    case "ok":
      return <Badge tone="good">ok</Badge>;
    case "failing":
      return <Badge tone="warn">last request failed</Badge>;
  }
}

/** Whether an operator has to look at an upstream. */
export function isTroubled(upstream: UpstreamState): boolean {
  const { resting, failingModels, state } = upstream;
  return resting || failingModels.length > 0 || state === "failing" ||
    failedShare(upstream) !== undefined;
}

/** The last hour of an upstream as bars, one for each minute. */
export function HourSparkline({ activity, of }: { activity: ActivityState; of: string }) {
  return (
    <Sparkline
      label={`${of}, last hour`}
      unit="attempts"
      values={activity.minutes.map(({ atMs, attempts, failed }) => ({
        atMs,
        value: attempts,
        failed,
      }))}
    />
  );
}

/** An upstream with the figures of its last hour. */
export type UpstreamRow = ReturnType<typeof rowOf>;

/** Adds up the last hour of an upstream. */
export function rowOf(upstream: UpstreamState) {
  return { ...upstream, hour: hourOf(upstream.activity) };
}

/** What happened in the last hour, in figures and as a sparkline. */
export const HOUR_COLUMNS: readonly Column<UpstreamRow>[] = [
  { name: "attempts", numeric: true, cell: ({ hour }) => number(hour.attempts) },
  {
    name: "failed",
    role: "figure",
    cell: ({ hour }) => hour.attempts === 0 ? "–" : share(hour.failed, hour.attempts),
  },
  {
    name: "usage not believed",
    role: "figure",
    cell: ({ hour }) => hour.departed === 0 ? "–" : number(hour.departed),
  },
  { name: "p50", numeric: true, cell: ({ hour }) => duration(hour.p50Ms) },
  { name: "p95", numeric: true, cell: ({ hour }) => duration(hour.p95Ms) },
  {
    name: "last hour",
    bare: true,
    cell: ({ name, activity }) => <HourSparkline activity={activity} of={name} />,
  },
];

/** The last hour of all upstreams, in short: for the overview. */
export function UpstreamSummary({ upstreams }: { upstreams: readonly UpstreamState[] }) {
  const rows = upstreams.map(rowOf)
    .toSorted((a, b) => Number(isTroubled(b)) - Number(isTroubled(a)));
  return (
    <Table<UpstreamRow>
      caption="Upstreams, last hour"
      rows={rows}
      empty="No upstreams configured."
      columns={[
        {
          name: "upstream",
          cell: ({ name }) => <Name text={name} href="/console/operator/upstreams" />,
        },
        { name: "state", bare: true, cell: (one) => <UpstreamBadge {...one} /> },
        ...HOUR_COLUMNS,
      ]}
    />
  );
}
