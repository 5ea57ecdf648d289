import type { Child } from "@hono/hono/jsx";
import { can, type Session } from "../../../people/accounts/mod.ts";
import {
  type AuditOutcome,
  lastAudit,
  type Notice,
  notices,
  unreadCount,
} from "../../../operating/alerts/mod.ts";
import type { UpstreamState } from "../../../requests/upstreams/mod.ts";
import { AlertText } from "../alert_text.tsx";
import { Badge, RelativeTime, Stat, Time } from "../components.tsx";
import { dollarRateOf } from "../dollars.ts";
import { count } from "../format.ts";
import { type GuardedApp, may } from "../guard.ts";
import { Layout } from "../layout.tsx";
import { type ConsoleParts, pageOf, type PageRequest } from "../request.tsx";
import { livePage } from "./live_page.tsx";
import { isRange, overviewFigures, type RangeName, RANGES } from "./overview_figures.ts";
import { UsageParts } from "./overview_usage.tsx";
import { isTroubled, UpstreamSummary } from "./upstream_table.tsx";

const PATH = "/console/operator";
const ALERTS_SHOWN = 3;
const EVERY_MS = 5_000;

/** The first page of operators: whether something is wrong now, and what was used. */
export function overviewRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { database, now, upstreamStates, liveRequests } = parts;
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
  const render = async (session: Session) => (
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
        render,
        whole: (live) => overviewPage(c, parts, range, live),
      });
    }),
  );
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
                {troubled.length > 0 && <Badge tone="bad">{troubled.length} in trouble</Badge>}{" "}
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
            value={auditFigure(audit.last)}
            note={
              <>
                {audit.last === undefined || audit.last.mismatches === 0
                  ? null
                  : <Badge tone="bad">do not match</Badge>}{" "}
                {audit.last !== undefined && <RelativeTime ms={audit.last.atMs} nowMs={nowMs} />}
                {" "}
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
        As of <Time ms={nowMs} />.{upstreams === undefined
          ? null
          : " Upstreams: the last hour, as this gateway has seen it."}
      </p>
    </>
  );
}

function auditFigure(last: AuditOutcome | undefined): string {
  if (last === undefined) return "none yet";
  return last.mismatches === 0 ? "clean" : count(last.mismatches, "row");
}

/** The present, and the figures of a range. */
async function overviewPage(c: PageRequest, parts: ConsoleParts, range: RangeName, live: Child) {
  const figures = await overviewFigures(parts, range);
  const isEmpty = figures.overTime.totals.requests === 0 &&
    figures.before.totals.requests === 0;
  return (
    <Layout page={pageOf(c)} title="Overview">
      {live}
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
      {isEmpty
        ? (
          <p class="empty">
            No requests in this time. Send one from the <a href="/console/playground">Playground</a>
            {" "}
            or see how to connect a client on <a href="/console/keys">Keys</a>.
          </p>
        )
        : <UsageParts figures={figures} range={range} perUsd={dollarRateOf(parts.config)} />}
    </Layout>
  );
}
