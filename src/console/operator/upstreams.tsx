import { configuredUpstreams, type Upstream } from "../../upstreams/mod.ts";
import { Badge, Table } from "../components.tsx";
import { duration, relative } from "../format.ts";
import { Layout } from "../layout.tsx";
import { type ConsoleParts, pageOf } from "../request.tsx";
import { livePage } from "./live_page.tsx";
import { type OperatorApp, operatorOnly } from "./operator_only.ts";

/** How upstreams have been doing. */
export function upstreamsRoutes(app: OperatorApp, parts: ConsoleParts): void {
  const { upstreams, config, now } = parts;
  const hosts = Object.fromEntries(
    Object.entries(configuredUpstreams(config.settings)).map((
      [name, { url }],
    ) => [name, new URL(url).host]),
  );
  app.get(
    "/upstreams",
    operatorOnly((c) =>
      livePage(c, parts, {
        everyMs: 5_000,
        part: () => <UpstreamTable upstreams={upstreams.all} hosts={hosts} nowMs={now()} />,
        whole: (part) => (
          <Layout page={pageOf(c)} title="Upstreams">
            {part}
            <p class="quiet">
              <code>sluice doctor</code> asks each of them now and says what to do.
            </p>
          </Layout>
        ),
      })
    ),
  );
}

function UpstreamTable(
  { upstreams, hosts, nowMs }: {
    upstreams: readonly Upstream[];
    hosts: Readonly<Record<string, string>>;
    nowMs: number;
  },
) {
  return (
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
  );
}
