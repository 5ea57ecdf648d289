import type { ComparedFigures, UsageFigures, UsageRow } from "../../../money/usage/mod.ts";
import { Chart, Name, Stat, Table, Time } from "../components.tsx";
import { dollars } from "../dollars.ts";
import { count, duration, number, share, signed } from "../format.ts";
import {
  type OverviewFigures,
  type RangeName,
  RANGES,
  requestsChart,
  spendChart,
} from "./overview_figures.ts";

const PATH = "/console/operator";
/** A change beyond this is from next to nothing. */
const MAX_CHANGE_PERCENT = 999;

/** What was used in a range: figures, charts and the top ones. */
export function UsageParts(
  { figures, range, perUsd }: {
    figures: OverviewFigures;
    range: RangeName;
    /** Credits for one US dollar; undefined if the settings do not say. */
    perUsd: number | undefined;
  },
) {
  const { overTime, before, models, accounts, latency, latencyBefore, span } = figures;
  const { totals } = overTime;
  const usage = (by: string) =>
    `/console/usage?${new URLSearchParams({ all: "1", by, since: range, compare: "1" })}`;
  const chart = spendChart(figures);
  const than = range === "today"
    ? "yesterday up to the same time"
    : `the ${RANGES[range].words} before, up to the same time`;
  return (
    <>
      <dl class="stats">
        <Stat
          name="Spend"
          value={totals.credits}
          note={join(
            "credits",
            perUsd === undefined ? "" : dollars(totals.credits, perUsd),
            changeOf(totals.credits, before.totals.credits),
          )}
        />
        <Stat
          name="Requests"
          value={totals.requests}
          note={changeOf(totals.requests, before.totals.requests)}
        />
        <Stat
          name="Failed"
          value={share(totals.errors, totals.requests)}
          note={together(
            `${number(totals.errors)} of ${number(totals.requests)}; before ${
              share(before.totals.errors, before.totals.requests)
            }`,
          )}
        />
        <Stat
          name="Latency p50"
          value={duration(latency.p50Ms)}
          note={`before ${duration(latencyBefore.p50Ms)}`}
        />
        <Stat
          name="Latency p95"
          value={duration(latency.p95Ms)}
          note={`before ${duration(latencyBefore.p95Ms)}`}
        />
        <Stat
          name="First output p95"
          value={duration(latency.firstTokenP95Ms)}
          note={`before ${duration(latencyBefore.firstTokenP95Ms)}`}
        />
      </dl>
      <p class="quiet">
        From <Time ms={span.sinceMs} dayOnly /> (UTC) to now, compared with{" "}
        {than}. Latency is the time from arrival to the end of the latest{" "}
        {count(latency.requests, "complete request")}
        {latency.sinceMs === undefined ? null : (
          <>
            {" "}since <Time ms={latency.sinceMs} />
          </>
        )}, compared with {number(latencyBefore.requests)} before.
      </p>
      <div class="pair">
        <Chart {...requestsChart(figures)} />
        {chart === undefined ? null : <Chart {...chart} />}
      </div>
      <div class="pair">
        <div>
          <section>
            <h2>Top accounts</h2>
            <TopTable
              noun="account"
              rows={accounts.rows}
              total={accounts.totals}
              href={({ account }) => `${PATH}/accounts/${account}`}
            />
            <p>
              All <a href={usage("account")}>accounts</a>, <a href={usage("team")}>teams</a>,{" "}
              <a href={usage("member")}>members</a>, <a href={usage("key")}>keys</a>
            </p>
          </section>
          <section>
            <h2>Why requests failed</h2>
            <Failures totals={totals} />
            <p>
              All <a href={usage("reason")}>reasons</a>
            </p>
          </section>
        </div>
        <section>
          <h2>Top models</h2>
          <TopTable
            noun="model"
            rows={models.rows}
            total={models.totals}
          />
          <p>
            All <a href={usage("model")}>models</a>
          </p>
        </section>
      </div>
    </>
  );
}

function TopTable(
  { noun, rows, total, href }: {
    noun: "account" | "model";
    rows: readonly UsageRow[];
    total: UsageFigures;
    href?: (group: UsageRow["group"]) => string;
  },
) {
  return (
    <Table<UsageRow>
      caption={`Top ${noun}s`}
      rows={rows}
      empty="No requests in this time."
      columns={[
        {
          name: noun,
          cell: ({ group, names, isOthers }) =>
            isOthers
              ? <Name text="all others" />
              : <Name text={names[noun] ?? group[noun] ?? ""} href={href?.(group)} />,
        },
        {
          name: "requests",
          numeric: true,
          cell: ({ requests }) => number(requests),
        },
        {
          name: "failed",
          numeric: true,
          cell: ({ requests, errors }) => errors === 0 ? "–" : share(errors, requests),
        },
        {
          name: "credits",
          role: "figure",
          cell: ({ credits }) => (
            <>
              {number(credits)} <span class="share">{together(share(credits, total.credits))}</span>
            </>
          ),
        },
      ]}
    />
  );
}

function Failures({ totals }: { totals: ComparedFigures }) {
  const rows = Object.entries(totals.failures ?? {}).toSorted(([, a], [, b]) => b - a)
    .slice(0, 6);
  return (
    <Table<readonly [string, number]>
      caption="Reasons of failures"
      rows={rows}
      empty="No request failed in this time."
      columns={[
        { name: "reason", cell: ([reason]) => <Name text={reason.replaceAll("_", " ")} /> },
        { name: "requests", role: "figure", cell: ([, found]) => number(found) },
        { name: "share", numeric: true, cell: ([, found]) => share(found, totals.errors) },
      ]}
    />
  );
}

/** What it was before; with the change in percent where that says something. */
function changeOf(now: number, before: number): string {
  if (before === 0) return now === 0 ? "as before" : "none before";
  const percent = Math.round((now - before) / before * 100);
  const change = percent > MAX_CHANGE_PERCENT ? "" : ` (${signed(percent)} %)`;
  return together(`before ${number(before)}${change}`);
}

function join(...words: readonly string[]): string {
  return words.filter((word) => word !== "").join(", ");
}

/** Keeps a number and its unit on one line. */
function together(text: string): string {
  return text.replaceAll(" %", "\u00a0%");
}
