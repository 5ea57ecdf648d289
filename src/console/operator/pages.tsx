import type { Route } from "../../catalog/mod.ts";
import type { EffectiveSetting } from "../../config/mod.ts";
import type { AuditReport, Mismatch } from "../../ledger/mod.ts";
import type { RunningRequest } from "../../relay/mod.ts";
import type { Upstream } from "../../upstreams/mod.ts";
import type { Invitation } from "../../billing/mod.ts";
import { Badge, Form, Stat, Table, Time } from "../components.tsx";
import { count, duration, number, relative } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";

/** In-flight requests. */
export function LivePage(
  { page, running, nowMs }: {
    page: PageContext;
    running: readonly RunningRequest[];
    nowMs: number;
  },
) {
  return (
    <Layout page={page} title="Live requests">
      <div id="live" data-refresh="2000">
        <p class="quiet">
          {count(running.length, "request")} at <Time ms={nowMs} />; refreshes every 2 s.
        </p>
        <Table<RunningRequest>
          caption="In-flight requests, oldest first"
          rows={running}
          empty="No requests in flight."
          columns={[
            { name: "request", cell: ({ requestId }) => <code>{requestId}</code> },
            { name: "account", cell: ({ email }) => email },
            { name: "model", cell: ({ route }) => route },
            {
              name: "dialect",
              cell: ({ dialect, streamed }) => `${dialect}${streamed ? ", streamed" : ""}`,
            },
            {
              name: "duration",
              numeric: true,
              cell: ({ startedAtMs }) => duration(nowMs - startedAtMs),
            },
          ]}
        />
      </div>
    </Layout>
  );
}

/** Health of the upstreams. */
export function UpstreamsPage(
  { page, upstreams, hosts, nowMs }: {
    page: PageContext;
    upstreams: readonly Upstream[];
    hosts: Readonly<Record<string, string>>;
    nowMs: number;
  },
) {
  return (
    <Layout page={page} title="Upstreams">
      <div id="upstreams" data-refresh="5000">
        <Table<Upstream>
          caption="Upstreams"
          rows={upstreams}
          empty="No upstreams configured."
          columns={[
            { name: "name", cell: ({ name }) => name },
            { name: "host", cell: ({ name }) => hosts[name] ?? "built in" },
            { name: "dialect", cell: ({ dialect }) => dialect },
            {
              name: "state",
              cell: ({ health }) =>
                health.resting
                  ? <Badge tone="bad">cooling down</Badge>
                  : <Badge tone="good">usable</Badge>,
            },
            {
              name: "last latency",
              numeric: true,
              cell: ({ health }) =>
                health.lastLatencyMs === undefined ? "–" : duration(health.lastLatencyMs),
            },
            {
              name: "last failure",
              cell: ({ health: { lastFailure } }) =>
                lastFailure === undefined
                  ? "none since start"
                  : `${relative(lastFailure.atMs, nowMs)}: ${lastFailure.detail}`,
            },
          ]}
        />
      </div>
      <p class="quiet">
        <code>sluice doctor</code> checks each upstream and says how to fix problems.
      </p>
    </Layout>
  );
}

/** Effective routes and prices. */
export function RoutesPage({ page, routes }: { page: PageContext; routes: readonly Route[] }) {
  return (
    <Layout page={page} title="Routes">
      <Table<Route>
        caption="Effective routes"
        rows={routes}
        empty="No routes configured."
        columns={[
          { name: "model", cell: ({ id }) => <code>{id}</code> },
          {
            name: "targets",
            cell: ({ targets }) =>
              targets.map(({ upstream, model }) => `${upstream}: ${model}`).join(" → "),
          },
          { name: "context", numeric: true, cell: ({ context }) => number(context) },
          { name: "max output", numeric: true, cell: ({ maxOutput }) => number(maxOutput) },
          { name: "minimum", numeric: true, cell: ({ minimum }) => number(minimum) },
          {
            name: "in / cached / out",
            numeric: true,
            cell: ({ prices }) => `${prices.input} / ${prices.cached} / ${prices.output}`,
          },
          { name: "images", cell: ({ images }) => images },
          { name: "reasoning", cell: ({ reasoning }) => reasoning },
        ]}
      />
    </Layout>
  );
}

/** Effective settings, with masked secrets. */
export function SettingsPage(
  { page, settings }: { page: PageContext; settings: readonly EffectiveSetting[] },
) {
  return (
    <Layout page={page} title="Settings">
      <Table<EffectiveSetting>
        caption="Effective settings"
        rows={settings}
        empty=""
        columns={[
          { name: "setting", cell: ({ path }) => <code>{path}</code> },
          {
            name: "value",
            cell: ({ value }) => typeof value === "object" ? JSON.stringify(value) : String(value),
          },
          { name: "source", cell: ({ origin }) => origin },
        ]}
      />
    </Layout>
  );
}

/** Invitations of an account. */
export interface InviterRow {
  readonly email: string;
  readonly joined: readonly Invitation[];
}

/** All invitations. */
export function InvitesPage(
  { page, inviters }: { page: PageContext; inviters: readonly InviterRow[] },
) {
  const rows = inviters.flatMap(({ email, joined }) =>
    joined.map((one) => ({ inviter: email, ...one }))
  );
  return (
    <Layout page={page} title="Invites">
      <Table<typeof rows[number]>
        caption="Who invited whom"
        rows={rows}
        empty="Nobody has joined with an invite code yet."
        columns={[
          { name: "invited by", cell: ({ inviter }) => inviter },
          { name: "invitee", cell: ({ email }) => email },
          { name: "date", cell: ({ joinedAtMs }) => <Time ms={joinedAtMs} dayOnly /> },
          { name: "earned", numeric: true, cell: ({ earned }) => number(earned) },
        ]}
      />
    </Layout>
  );
}

/** Formats a side of a mismatch; `null` means a missing row. */
function valueText(value: Mismatch["found"]): string {
  return value === null ? "none" : typeof value === "number" ? number(value) : value;
}

/** Audit of the ledger, and backup. */
export function AuditPage(
  { page, csrf, report, tookMs, canBackUp }: {
    page: PageContext;
    csrf: string;
    report?: AuditReport | undefined;
    tookMs?: number | undefined;
    canBackUp: boolean;
  },
) {
  return (
    <Layout
      page={page}
      title="Audit and backup"
      notice={report === undefined
        ? undefined
        : report.mismatches.length === 0
        ? { tone: "good", text: "No mismatches found." }
        : { tone: "bad", text: `${count(report.mismatches.length, "row")} do not match.` }}
    >
      {report === undefined ? null : (
        <>
          <dl class="stats">
            <Stat name="Accounts" value={report.accounts} />
            <Stat name="Lots" value={report.lots} />
            <Stat name="Entries" value={report.entries} />
            <Stat name="Holds" value={report.holds} />
            <Stat
              name="Uncollected"
              value={report.uncollected.credits}
              note={count(report.uncollected.requests, "request")}
            />
            <Stat name="Duration" value={duration(tookMs ?? 0)} />
          </dl>
          {report.mismatches.length === 0 ? null : (
            <Table<Mismatch>
              caption="Mismatches"
              rows={report.mismatches}
              empty=""
              columns={[
                { name: "noun", cell: ({ noun }) => noun },
                { name: "kind", cell: ({ kind }) => kind },
                { name: "row", cell: ({ id }) => <code>{id}</code> },
                { name: "found", numeric: true, cell: ({ found }) => valueText(found) },
                { name: "expected", numeric: true, cell: ({ expected }) => valueText(expected) },
              ]}
            />
          )}
        </>
      )}
      <div class="grid">
        <Form action="/console/operator/audit" csrf={csrf} class="card">
          <h2>Audit</h2>
          <p>
            Recomputes balances, budgets, lots, holds, windows and roll-ups from entries and
            records, and checks the schema. Requests continue meanwhile.
          </p>
          <button type="submit">Audit now</button>
        </Form>
        {canBackUp
          ? (
            <Form action="/console/operator/backup" csrf={csrf} class="card">
              <h2>Backup</h2>
              <p>A consistent copy of the whole database, verified before it is sent.</p>
              <button type="submit">Download backup</button>
            </Form>
          )
          : null}
      </div>
    </Layout>
  );
}
