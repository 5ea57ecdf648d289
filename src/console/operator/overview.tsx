import type { Child } from "@hono/hono/jsx";
import { can, type Session } from "../../accounts/mod.ts";
import {
  type AuditOutcome,
  lastAudit,
  type Notice,
  notices,
  unreadCount,
} from "../../alerts/mod.ts";
import type { Config } from "../../config/mod.ts";
import type { UpstreamState } from "../../upstreams/mod.ts";
import type { ComparedFigures, UsageFigures, UsageRow } from "../../usage/mod.ts";
import { AlertText } from "../alert_text.tsx";
import { Badge, Chart, Name, RelativeTime, Stat, Table, Time } from "../components.tsx";
import { count, duration, number, share, signed } from "../format.ts";
import { type GuardedApp, may } from "../guard.ts";
import { Layout, type PageContext } from "../layout.tsx";
import { type ConsoleParts, pageOf } from "../request.tsx";
import { livePage } from "./live_page.tsx";
import {
  isRange,
  type OverviewFigures,
  overviewFigures,
  type RangeName,
  RANGES,
  requestsChart,
  spendChart,
} from "./overview_figures.ts";
import { isTroubled, UpstreamSummary } from "./upstream_table.tsx";

const PATH = "/console/operator";
const ALERTS_SHOWN = 3;
const EVERY_MS = 5_000;

/** The first page of operators: whether something is wrong now, and what was used. */
export function overviewRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { database, now, upstreamStates, liveRequests, config } = parts;
  const present = async (session: Session): Promise<Present> => {
    const [upstreams, inFlight, unread, latest, audit] = await Promise.all([
      can(session, "upstreams.read") ? upstreamStates() : undefined,
      can(session, "live.read") ? liveRequests() : undefined,
      can(session, "alerts.read") ? unreadCount(database) : undefined,
      can(session, "alerts.read") ? notices(database, { isUnread: true, limit: ALERTS_SHOWN }) : [],
      can(session, "audit.run") ? { last: await lastAudit(database) } : undefined,
    ]);
    return { upstreams, inFlight: inFlight?.length, unread, latest, audit };
  };
  const part = async (session: Session) => (
    <PresentPart present={await present(session)} nowMs={now()} />
  );
  app.get(
    "/",
    may("usage.read", (c) => {
      const asked = c.req.query("range") ?? "";
      const range: RangeName = isRange(asked) ? asked : "today";
      return livePage(c, parts, {
        action: "usage.read",
        everyMs: EVERY_MS,
        part,
        whole: async (live) => (
          <OverviewPage
            page={pageOf(c)}
            range={range}
            figures={await overviewFigures(parts, range)}
            perUsd={perUsdOf(config)}
          >
            {live}
          </OverviewPage>
        ),
      });
    }),
  );
}

/** What credits are worth, where somebody has said so. */
function perUsdOf({ settings, origins }: Config): number | undefined {
  return origins.has("credits.perUsd") ? settings.credits.perUsd : undefined;
}

/** How it is going now; undefined for what the visitor may not see. */
interface Present {
  readonly upstreams: readonly UpstreamState[] | undefined;
  /** Number of requests. */
  readonly inFlight: number | undefined;
  /** Alerts that no operator has read, up to 100, and the latest of them. */
  readonly unread: number | undefined;
  readonly latest: readonly Notice[];
  readonly audit: { readonly last: AuditOutcome | undefined } | undefined;
}

function PresentPart({ present, nowMs }: { present: Present; nowMs: number }) {
  const { upstreams, inFlight, unread, latest, audit } = present;
  const troubled = upstreams?.filter(isTroubled) ?? [];
  return (
    <>
      <dl class="stats">
        {upstreams === undefined ? null : (
          <Stat
            name="Upstreams"
            value={`${upstreams.length - troubled.length} of ${upstreams.length} ok`}
            note={
              <>
                {troubled.length === 0
                  ? null
                  : <Badge tone="bad">{troubled.length} in trouble</Badge>}{" "}
                <a href={`${PATH}/upstreams`}>Test and details</a>
              </>
            }
          />
        )}
        {inFlight === undefined ? null : (
          <Stat
            name="In flight"
            value={inFlight}
            note={<a href={`${PATH}/live`}>Live requests</a>}
          />
        )}
        {unread === undefined ? null : (
          <Stat
            name="Unread alerts"
            value={unread === 100 ? "100 or more" : unread}
            note={<a href={`${PATH}/alerts`}>All alerts</a>}
          />
        )}
        {audit === undefined ? null : (
          <Stat
            name="Last audit"
            value={auditWords(audit.last)}
            note={
              <>
                {audit.last === undefined
                  ? null
                  : <RelativeTime ms={audit.last.atMs} nowMs={nowMs} />}{" "}
                <a href={`${PATH}/audit`}>Audit</a>
              </>
            }
          />
        )}
      </dl>
      {latest.length === 0 ? null : (
        <ul class="alerts" aria-label="Unread alerts, newest first">
          {latest.map((one) => (
            <li>
              <strong>{one.title}</strong> <AlertText alert={one} />{" "}
              <span class="quiet">
                <RelativeTime ms={one.createdAtMs} nowMs={nowMs} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {upstreams === undefined ? null : <UpstreamSummary upstreams={upstreams} />}
      <p class="quiet">
        As of <Time ms={nowMs} />. Upstreams: the last hour, in this process.
      </p>
    </>
  );
}

function auditWords(last: AuditOutcome | undefined): string {
  if (last === undefined) return "none yet";
  return last.mismatches === 0 ? "clean" : count(last.mismatches, "mismatch").replace("hs", "hes");
}

/** The present, and the figures of a range. */
function OverviewPage(
  { page, range, figures, perUsd, children }: {
    page: PageContext;
    range: RangeName;
    figures: OverviewFigures;
    /** Credits for one US dollar; undefined if the settings do not say. */
    perUsd: number | undefined;
    children?: Child;
  },
) {
  const { overTime, before, models, accounts, latency, latencyBefore, span } = figures;
  const { totals } = overTime;
  const usage = (by: string) =>
    `/console/usage?${new URLSearchParams({ all: "1", by, since: range, compare: "1" })}`;
  const chart = spendChart(figures);
  const dollars = (credits: number) =>
    perUsd === undefined ? "" : `$${
      (credits / perUsd).toLocaleString("en-US", {
        minimumFractionDigits: 2,
        maximumFractionDigits: 2,
      })
    }`;
  const than = range === "today" ? "yesterday at this time" : `the ${RANGES[range].words} before`;
  return (
    <Layout page={page} title="Overview">
      {children}
      <h2>Usage</h2>
      <nav class="tabs" aria-label="Range">
        {Object.entries(RANGES).map(([name, { words }]) => (
          <a
            href={name === "today" ? PATH : `${PATH}?range=${name}`}
            aria-current={name === range ? "page" : undefined}
          >
            {words}
          </a>
        ))}
      </nav>
      <dl class="stats">
        <Stat
          name="Spend"
          value={totals.credits}
          note={join(
            "credits",
            dollars(totals.credits),
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
          note={`${number(totals.errors)} of ${number(totals.requests)}; before ${
            share(before.totals.errors, before.totals.requests)
          }`}
        />
        <Stat
          name="Latency p50"
          value={msText(latency.p50Ms)}
          note={`before ${msText(latencyBefore.p50Ms)}`}
        />
        <Stat
          name="Latency p95"
          value={msText(latency.p95Ms)}
          note={`before ${msText(latencyBefore.p95Ms)}`}
        />
        <Stat
          name="First output p95"
          value={msText(latency.firstTokenP95Ms)}
          note={`before ${msText(latencyBefore.firstTokenP95Ms)}`}
        />
      </dl>
      <p class="quiet">
        UTC days <Time ms={span.sinceMs} dayOnly /> to now, compared with{" "}
        {than}. Latency is that of the latest {number(latency.requests)}{" "}
        complete requests, from arrival to end{latency.sinceMs === undefined ? null : (
          <>
            , from <Time ms={latency.sinceMs} /> on
          </>
        )}; before: of {number(latencyBefore.requests)}.
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
            href={() => undefined}
          />
          <p>
            All <a href={usage("model")}>models</a>
          </p>
        </section>
      </div>
    </Layout>
  );
}

function TopTable(
  { noun, rows, total, href }: {
    noun: "account" | "model";
    rows: readonly UsageRow[];
    total: UsageFigures;
    href: (group: UsageRow["group"]) => string | undefined;
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
          cell: ({ group, names, isOthers }) => {
            const link = isOthers ? undefined : href(group);
            return (
              <Name
                text={isOthers ? "all others" : names[noun] ?? group[noun] ?? ""}
                {...(link === undefined ? {} : { href: link })}
              />
            );
          },
        },
        {
          name: "requests",
          numeric: true,
          cell: ({ requests, errors }) => (
            <>
              {number(requests)}
              {errors === 0
                ? null
                : <span class="quiet">{`, ${share(errors, requests)} failed`}</span>}
            </>
          ),
        },
        {
          name: "credits",
          role: "figure",
          numeric: true,
          cell: ({ credits }) => (
            <>
              {number(credits)} <span class="quiet">{share(credits, total.credits)}</span>
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
        { name: "requests", role: "figure", numeric: true, cell: ([, found]) => number(found) },
        { name: "share", numeric: true, cell: ([, found]) => share(found, totals.errors) },
      ]}
    />
  );
}

function changeOf(now: number, before: number): string {
  if (before === 0) return now === 0 ? "as before" : "none before";
  return `${signed(Math.round((now - before) / before * 100))} % to before`;
}

function join(...words: readonly string[]): string {
  return words.filter((word) => word !== "").join(", ");
}

function msText(ms: number | undefined): string {
  return ms === undefined ? "–" : duration(ms);
}
