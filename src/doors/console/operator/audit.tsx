import type { Child } from "@hono/hono/jsx";
import { can, type Session } from "../../../people/accounts/mod.ts";
import {
  auditOnce,
  type AuditOutcome,
  lastAudit,
  rememberAudit,
} from "../../../operating/alerts/mod.ts";
import { databaseFile } from "../../../settings/config/mod.ts";
import { backUp } from "../../../ground/database/mod.ts";
import { randomText } from "../../../ground/platform/mod.ts";
import {
  type AuditReport,
  type LentToGateway,
  lentToGateways,
  type Mismatch,
} from "../../../money/ledger/mod.ts";
import { LOAN_WRITE_OFF, mayOperate } from "../../../operating/operations/mod.ts";
import { STATUS_CODE } from "../../../ground/std/mod.ts";
import {
  Field,
  Form,
  Name,
  Names,
  RelativeTime,
  Select,
  Stat,
  Table,
  Time,
} from "../components.tsx";
import { count, duration, number } from "../format.ts";
import { FIRST_TIME_MS, type ObjectLabels, objectLabels, RowKey } from "./object_names.tsx";
import { Layout } from "../layout.tsx";
import { pageWithForms } from "../forms.ts";
import {
  type ConsoleParts,
  notFound,
  page,
  pageOf,
  type PageRequest,
  recordOf,
} from "../request.tsx";
import { type GuardedApp, may } from "../guard.ts";

/** The audit, and a backup to download. */
export function auditRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { config, aside, database, now } = parts;
  const file = databaseFile(config.settings);
  const post = pageWithForms(app, parts, "/audit", {
    action: "audit.run",
    show: async (c, session, _page, { error }) =>
      await auditPage(c, parts, session, { error, last: await lastAudit(database) }),
  });
  post("/write-off", LOAN_WRITE_OFF, {
    input: (form) => ({ gateway: form.text("gateway"), note: form.text("note") }),
    done: "written-off",
  });
  app.post(
    "/audit",
    may("audit.run", async (c, session) => {
      const startedTick = performance.now();
      const report = await auditOnce(aside);
      const tookMs = performance.now() - startedTick;
      await rememberAudit(database, report, now());
      const labels = await objectLabels(parts, report.mismatches.map(({ id }) => id));
      return await auditPage(c, parts, session, { report, labels, tookMs });
    }),
  );
  app.post(
    "/backup",
    may("backup.download", async (c, session) => {
      if (file === undefined) return await notFound(c);
      await database.batch([recordOf(c, parts, { session, operation: "backup.download" })]);
      const copy = `${file}.download-${randomText(8)}`;
      await aside((database) => backUp(database, copy));
      const opened = await Deno.open(copy);
      const { size } = await opened.stat();
      await Deno.remove(copy); // it stays readable until it is sent
      const day = new Date(now()).toISOString().slice(0, 10);
      return c.body(opened.readable, STATUS_CODE.OK, {
        "content-type": "application/vnd.sqlite3",
        "content-length": String(size),
        "content-disposition": `attachment; filename="sluice-${day}.db"`,
      });
    }),
  );
}

/** A mismatch's side; null where a row is missing. */
function valueOf(kind: string, value: Mismatch["found"]): Child {
  if (value === null) return "none";
  if (typeof value === "string") return <Name text={value} />;
  return /_at(_ms)?$/.test(kind) && value >= FIRST_TIME_MS ? <Time ms={value} /> : number(value);
}

/** The ledger re-added, on request. */
async function auditPage(
  c: PageRequest,
  { config, database, now }: ConsoleParts,
  session: Session,
  { error, last, report, labels = new Map(), tookMs }: {
    readonly error?: string | undefined;
    /** How the last one went, if none was asked for now. */
    readonly last?: AuditOutcome | undefined;
    readonly report?: AuditReport;
    /** What the rows of the report are called. */
    readonly labels?: ObjectLabels;
    readonly tookMs?: number;
  },
): Promise<Response> {
  const context = pageOf(c, error);
  const nowMs = now();
  // gateways that have not returned what they were lent
  const gone = (await lentToGateways(database)).filter(({ lapsedCredits }) => lapsedCredits > 0);
  const canBackUp = databaseFile(config.settings) !== undefined && can(session, "backup.download");
  return await page(
    c,
    <Layout
      page={context}
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
            <Stat
              name="Lent and written off"
              value={report.writtenOff.credits}
              note={count(report.writtenOff.loans, "loan")}
            />
            <Stat
              name="Charged late"
              value={report.late.credits}
              note={count(report.late.requests, "request")}
            />
            <Stat name="Duration" value={duration(tookMs ?? 0)} />
          </dl>
          {report.mismatches.length === 0 ? null : (
            <p>
              Keep a backup of the database as it is, then see what changed it: rows edited by hand,
              a restored file, or a fault of the gateway. Balances are not corrected by themselves.
            </p>
          )}
          {report.mismatches.length === 0 ? null : (
            <Table<AuditReport["mismatches"][number]>
              caption="Mismatches"
              rows={report.mismatches}
              empty=""
              columns={[
                {
                  name: "what does not match",
                  cell: ({ noun, kind }) =>
                    `${noun}: ${kind.replace(`${noun}_`, "").replaceAll("_", " ")}`,
                },
                { name: "promise", cell: ({ promise }) => <Name text={promise} code /> },
                {
                  name: "row",
                  cell: ({ noun, id }) =>
                    noun === "schema"
                      ? <Name text={id} code />
                      : <RowKey id={id} labels={labels} />,
                },
                { name: "found", numeric: true, cell: ({ kind, found }) => valueOf(kind, found) },
                {
                  name: "expected",
                  role: "figure",
                  cell: ({ kind, expected }) => valueOf(kind, expected),
                },
              ]}
            />
          )}
        </>
      )}
      {gone.length > 0 && (
        <UnreturnedLoans
          gone={gone}
          csrf={context.csrf}
          nowMs={nowMs}
          mayWriteOff={mayOperate(session, LOAN_WRITE_OFF)}
        />
      )}
      <div class="grid">
        <Form action="/console/operator/audit" csrf={context.csrf} class="card">
          <h2>Audit</h2>
          <p>
            Recomputes balances, budgets, lots, holds, windows and roll-ups from entries and
            records, and checks the schema. Requests continue meanwhile.
          </p>
          {last === undefined ? null : (
            <p>
              Last audit: <RelativeTime ms={last.atMs} nowMs={nowMs} />, {last.mismatches === 0
                ? "no mismatches"
                : `${count(last.mismatches, "row")} did not match`}.
            </p>
          )}
          <button type="submit">Audit now</button>
        </Form>
        {canBackUp && (
          <Form action="/console/operator/backup" csrf={context.csrf} class="card">
            <h2>Backup</h2>
            <p>A copy of the whole database as of now, verified before it is sent.</p>
            <button type="submit">Download backup</button>
          </Form>
        )}
      </div>
    </Layout>,
  );
}

/** Gateways that are gone with what they were lent, and what frees it. */
function UnreturnedLoans(
  { gone, csrf, nowMs, mayWriteOff }: {
    gone: readonly LentToGateway[];
    csrf: string;
    nowMs: number;
    mayWriteOff: boolean;
  },
) {
  return (
    <section>
      <h2>Lent to gateways that are gone</h2>
      <p>
        Nobody else gets these credits: what the gateways sold may be in their data directories.
        Start each with its own, which charges that and frees the rest. If a directory is lost,
        write off what was lent.
      </p>
      <Table<LentToGateway>
        caption="Lent to gateways that are gone"
        rows={gone}
        empty=""
        columns={[
          { name: "gateway", cell: ({ gatewayId }) => <Name text={gatewayId} code /> },
          { name: "accounts", numeric: true, cell: (one) => number(one.lapsedAccounts) },
          {
            name: "credits",
            role: "figure",
            cell: ({ lapsedCredits }) => number(lapsedCredits),
          },
          {
            name: "in budgets of",
            cell: ({ lapsedKeys }) => <Names all={lapsedKeys} />,
          },
          {
            name: "gone since",
            cell: ({ leaseUntilMs }) => <RelativeTime ms={leaseUntilMs} nowMs={nowMs} />,
          },
        ]}
      />
      {mayWriteOff && (
        <Form action="/console/operator/audit/write-off" csrf={csrf} class="card narrow">
          <Select
            label="Gateway"
            name="gateway"
            options={gone.map(({ gatewayId }) =>
              gatewayId
            )}
          />
          <Field
            label="Note"
            name="note"
            maxlength={500}
            required
            hint="Why it is not waited for."
          />
          <button type="submit">Write off</button>
        </Form>
      )}
    </section>
  );
}
