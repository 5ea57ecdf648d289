import type { Session } from "../../../people/accounts/mod.ts";
import type { Child } from "@hono/hono/jsx";
import {
  type Json,
  mayOperate,
  type ReplyOf,
  UPSTREAM_ADD,
  UPSTREAM_TEST,
} from "../../../operating/operations/mod.ts";
import { STATUS_CODE } from "../../../ground/std/mod.ts";
import { configuredUpstreams, type UpstreamState } from "../../../requests/upstreams/mod.ts";
import { Badge, Facts, Form, Name, Names, RelativeTime, Table, Time } from "../components.tsx";
import { count, duration, hour as timeOfDay, number } from "../format.ts";
import { pageWithForms } from "../forms.ts";
import type { GuardedApp } from "../guard.ts";
import { Layout } from "../layout.tsx";
import { type ConsoleParts, page, pageOf, type PageRequest } from "../request.tsx";
import { livePage } from "./live_page.tsx";
import { upstreamAddRoutes } from "./upstream_add.tsx";
import { HOUR_COLUMNS, rowOf, UpstreamBadge, type UpstreamRow } from "./upstream_table.tsx";

const PATH = "/console/operator/upstreams";
const TEST_FORM = "test-upstream";

/** What a test of an upstream showed. */
type TestResult = ReplyOf<typeof UPSTREAM_TEST>;

/** How upstreams have been doing, and how one does now. */
export function upstreamsRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { upstreamStates, config, now } = parts;
  const hosts = Object.fromEntries(
    Object.entries(configuredUpstreams(config.settings)).map((
      [name, { url }],
    ) => [name, new URL(url).host]),
  );
  const part = (upstreams: readonly UpstreamState[]) => (
    <UpstreamParts upstreams={upstreams} hosts={hosts} nowMs={now()} />
  );
  const whole = (
    c: PageRequest,
    session: Session,
    { table, upstreams, shown }: {
      readonly table: Child;
      readonly upstreams: readonly UpstreamState[];
      readonly shown?: Child;
    },
  ) => (
    <Layout page={pageOf(c)} title="Upstreams">
      {shown}
      {mayOperate(session, UPSTREAM_ADD) && (
        <p>
          <a href={`${PATH}/add`}>Add an upstream</a>
        </p>
      )}
      {/* the buttons are in the table, whose parts come later for any session */}
      <Form action={PATH} csrf={session.csrfToken} id={TEST_FORM} />
      {table}
      <Minutes upstreams={upstreams} />
    </Layout>
  );
  const after = async (c: PageRequest, session: Session, shown: Child) => {
    const upstreams = await upstreamStates();
    return whole(c, session, { table: part(upstreams), upstreams, shown });
  };
  const live = async (c: PageRequest, session: Session) => {
    const upstreams = await upstreamStates();
    return await livePage(c, parts, {
      action: "upstreams.read",
      everyMs: 5_000,
      render: async () => part(await upstreamStates()),
      whole: (table) => whole(c, session, { table, upstreams }),
    });
  };
  pageWithForms<Pick<Session, "account">, { readonly tested: Json }>(app, parts, "/upstreams", {
    action: "upstreams.read",
    async show(c, session, _page, { tested, error }) {
      if (tested === undefined && error === undefined) return await live(c, session);
      const shown = tested === undefined
        ? (
          <div class="notice bad">
            <p role="alert">{error}</p>
          </div>
        )
        : <Tested result={UPSTREAM_TEST.output.parse(tested)} />;
      const status = tested === undefined ? STATUS_CODE.BadRequest : STATUS_CODE.OK;
      return await page(c, await after(c, session, shown), status);
    },
  })("", UPSTREAM_TEST, {
    input: (form) => ({ upstream: form.text("upstream") }),
    shows: (tested) => ({ tested }),
  });
  upstreamAddRoutes(app, parts);
}

/** The outcome of a test, with what to do about it. */
function Tested({ result }: { result: TestResult }) {
  const { upstream, ok, status, latency_ms, models, error } = result;
  return (
    <section class="card" aria-label={`Test of ${upstream}`}>
      <h2>
        Test of <Name text={upstream} />{" "}
        {ok ? <Badge tone="good">ok</Badge> : <Badge tone="bad">failed</Badge>}
      </h2>
      <p role="status">{ok ? `It listed ${count(models.length, "model")}.` : wordsOf(result)}</p>
      <Facts
        rows={[
          ["status", status ?? "none"],
          ...latency_ms === null
            ? []
            : [["latency", `${duration(latency_ms)}, connection included`] as const],
          ...error === null ? [] : [["error", error] as const],
          ...models.length === 0 ? [] : [["models", <Names all={models} />] as const],
        ]}
      />
    </section>
  );
}

function wordsOf({ status, error }: TestResult): string {
  if (error !== null) {
    return "It did not reply. Check its address in the settings, and whether this machine reaches it.";
  }
  if (status === 401 || status === 403) {
    return "It rejected the key. Check the key in the settings.";
  }
  if (status === 404 || status === 405) {
    return "It replied, but lists no models: some services do not. Requests may work all the same.";
  }
  return "It replied, but not with a list of models. sluice doctor says more.";
}

/** Such as `2 of 3 usable, key 1 in cooldown`. */
function keyStates({ count, resting }: NonNullable<UpstreamState["keys"]>): string {
  const usable = `${count - resting.length} of ${count} usable`;
  if (resting.length === 0) return usable;
  return `${usable}, ${resting.length === 1 ? "key" : "keys"} ${resting.join(", ")} in cooldown`;
}

function UpstreamParts(
  { upstreams, hosts, nowMs }: {
    upstreams: readonly UpstreamState[];
    hosts: Readonly<Record<string, string>>;
    nowMs: number;
  },
) {
  const rows = upstreams.map(rowOf);
  const hasKeys = rows.some(({ keys }) => keys !== undefined);
  return (
    <>
      <Table<UpstreamRow>
        caption="Upstreams, last hour"
        rows={rows}
        empty="No upstreams configured."
        columns={[
          {
            name: "name",
            cell: ({ name, dialect }) => (
              <>
                <Name text={name} />
                <span class="below quiet regular">
                  <Name text={hosts[name] ?? "built in"} />, {dialect}
                </span>
              </>
            ),
          },
          {
            name: "state",
            bare: true,
            cell: (one) => (
              <>
                <UpstreamBadge {...one} />
                {one.failingModels.length === 0 ? null : (
                  <>
                    {" "}
                    <Names all={one.failingModels} />
                  </>
                )}
              </>
            ),
          },
          ...(hasKeys
            ? [{
              name: "keys",
              cell: ({ keys }: UpstreamState) => keys === undefined ? "–" : keyStates(keys),
            }]
            : []),
          ...HOUR_COLUMNS,
          {
            name: "last failure",
            cell: ({ lastFailure }) =>
              lastFailure === undefined ? "–" : (
                <span class="breaks">
                  <RelativeTime ms={lastFailure.atMs} nowMs={nowMs} />: {lastFailure.detail}
                </span>
              ),
          },
          {
            name: "",
            cell: ({ name }) =>
              hosts[name] === undefined ? "" : (
                <button
                  type="submit"
                  class="plain"
                  form={TEST_FORM}
                  name="upstream"
                  value={name}
                  aria-label={`Test ${name} now`}
                >
                  Test now
                </button>
              ),
          },
        ]}
      />
      <p class="quiet">
        As of{" "}
        <Time ms={nowMs} />: the last hour, as this gateway has seen it since it started. Attempts
        are HTTP requests that were sent, retries included; failed are those that the upstream is to
        blame for; p50 and p95 are times to the first byte of a reply, up to a quarter too high.
      </p>
      <p class="quiet">
        {rows.every(({ name }) => hosts[name] === undefined)
          ? "No upstreams are configured: the built-in simulator replies."
          : (
            <>
              A test asks an upstream for its models: it costs nothing, and shows whether address,
              certificate and key work. It is recorded in the{" "}
              <a href="/console/operator/log">log</a>.
            </>
          )}
      </p>
    </>
  );
}

/** The values of the sparklines. */
function Minutes({ upstreams }: { upstreams: readonly UpstreamState[] }) {
  const rows = upstreams.flatMap(({ name, activity }) =>
    activity.minutes.filter(({ attempts, failed }) => attempts > 0 || failed > 0)
      .map((minute) => ({ name, ...minute }))
  ).toSorted((a, b) => b.atMs - a.atMs);
  if (rows.length === 0) return null;
  return (
    <details>
      <summary>The last hour by minute</summary>
      <Table<typeof rows[number]>
        caption="The last hour by minute, newest first"
        rows={rows}
        empty=""
        columns={[
          { name: "minute (UTC)", cell: ({ atMs }) => timeOfDay(atMs) },
          { name: "upstream", bare: true, cell: ({ name }) => <Name text={name} /> },
          { name: "attempts", numeric: true, cell: ({ attempts }) => number(attempts) },
          { name: "failed", role: "figure", cell: ({ failed }) => number(failed) },
        ]}
      />
    </details>
  );
}
