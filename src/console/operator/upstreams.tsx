import { configuredUpstreams, type UpstreamState } from "../../upstreams/mod.ts";
import { Badge, Table } from "../components.tsx";
import { duration, relative } from "../format.ts";
import { Layout } from "../layout.tsx";
import { type ConsoleParts, pageOf } from "../request.tsx";
import { livePage } from "./live_page.tsx";
import { type GuardedApp, may } from "../guard.ts";

/** How upstreams have been doing. */
export function upstreamsRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { upstreamStates, config, now } = parts;
  const hosts = Object.fromEntries(
    Object.entries(configuredUpstreams(config.settings)).map((
      [name, { url }],
    ) => [name, new URL(url).host]),
  );
  app.get(
    "/upstreams",
    may("upstreams.read", (c) =>
      livePage(c, parts, {
        action: "upstreams.read",
        everyMs: 5_000,
        part: async () => (
          <UpstreamTable upstreams={await upstreamStates()} hosts={hosts} nowMs={now()} />
        ),
        whole: (part) => (
          <Layout page={pageOf(c)} title="Upstreams">
            {part}
            <p class="quiet">
              <code>sluice doctor</code> asks each of them now and says what to do.
            </p>
          </Layout>
        ),
      })),
  );
}

function StateBadge({ resting, state }: Pick<UpstreamState, "resting" | "state">) {
  if (resting) return <Badge tone="bad">cooling down</Badge>;
  switch (state) {
    case "unknown":
      return <Badge tone="calm">not used yet</Badge>;
    case "ok":
      return <Badge tone="good">ok</Badge>;
    case "failing":
      return <Badge tone="bad">failing</Badge>;
  }
}

/** Such as `2 of 3 usable, key 1 in cooldown`. */
function keyStates({ count, resting }: NonNullable<UpstreamState["keys"]>): string {
  const usable = `${count - resting.length} of ${count} usable`;
  if (resting.length === 0) return usable;
  return `${usable}, ${resting.length === 1 ? "key" : "keys"} ${resting.join(", ")} in cooldown`;
}

function UpstreamTable(
  { upstreams, hosts, nowMs }: {
    upstreams: readonly UpstreamState[];
    hosts: Readonly<Record<string, string>>;
    nowMs: number;
  },
) {
  return (
    <Table<UpstreamState>
      caption="Upstreams"
      rows={upstreams}
      empty="No upstreams configured."
      columns={[
        { name: "name", cell: ({ name }) => name },
        { name: "host", cell: ({ name }) => hosts[name] ?? "built in" },
        { name: "dialect", cell: ({ dialect }) => dialect },
        {
          name: "state",
          bare: true,
          cell: ({ resting, state }) => <StateBadge resting={resting} state={state} />,
        },
        {
          name: "keys",
          cell: ({ keys }) => keys === undefined ? "–" : keyStates(keys),
        },
        {
          name: "last latency",
          role: "figure",
          numeric: true,
          cell: ({ lastLatencyMs }) => lastLatencyMs === undefined ? "–" : duration(lastLatencyMs),
        },
        {
          name: "last failure",
          cell: ({ lastFailure }) =>
            lastFailure === undefined
              ? "none since start"
              : `${relative(lastFailure.atMs, nowMs)}: ${lastFailure.detail}`,
        },
      ]}
    />
  );
}
