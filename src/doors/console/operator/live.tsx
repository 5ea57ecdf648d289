import type { InFlightRequest } from "../../../requests/relay/mod.ts";
import { Name, Table, Time } from "../components.tsx";
import { count, duration } from "../format.ts";
import { Layout } from "../layout.tsx";
import { type ConsoleParts, pageOf } from "../request.tsx";
import { livePage } from "./live_page.tsx";
import { type GuardedApp, may } from "../guard.ts";

/** The page of in-flight requests. */
export function liveRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { liveRequests, now } = parts;
  app.get(
    "/live",
    may("live.read", (c) =>
      livePage(c, parts, {
        action: "live.read",
        everyMs: 2_000,
        render: async () => <LiveRequests inFlight={await liveRequests()} nowMs={now()} />,
        whole: (part) => <Layout page={pageOf(c)} title="Live requests">{part}</Layout>,
      })),
  );
}

function LiveRequests(
  { inFlight, nowMs }: { inFlight: readonly InFlightRequest[]; nowMs: number },
) {
  return (
    <>
      <p class="quiet">
        {count(inFlight.length, "request")} in flight at{" "}
        <Time ms={nowMs} />. Updates every 2 seconds.
      </p>
      <Table<InFlightRequest>
        caption="In-flight requests, oldest first"
        rows={inFlight}
        empty="No requests in flight."
        columns={[
          {
            name: "account",
            cell: ({ accountId, email }) => (
              <Name text={email} href={`/console/operator/accounts/${accountId}`} />
            ),
          },
          { name: "model", bare: true, cell: ({ route }) => <Name text={route} /> },
          {
            name: "dialect",
            cell: ({ dialect, streamed }) => `${dialect}${streamed ? ", streamed" : ""}`,
          },
          { name: "request", bare: true, cell: ({ requestId }) => <code>{requestId}</code> },
          {
            name: "duration",
            role: "figure",
            cell: ({ startedAtMs }) => duration(nowMs - startedAtMs),
          },
        ]}
      />
    </>
  );
}
