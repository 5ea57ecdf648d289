import type { Child } from "@hono/hono/jsx";
import type { Route } from "../../../settings/catalog/mod.ts";
import type { Entry } from "../../../money/ledger/mod.ts";
import { STATUS_TEXT } from "../../../ground/std/mod.ts";
import { repliedBy, type RequestRecord } from "../../../money/usage/mod.ts";
import { Facts, Table, Time } from "../components.tsx";
import { duration, number } from "../format.ts";
import { failureWords } from "../failure_words.ts";
import { Layout, type PageContext } from "../layout.tsx";
import { lotName } from "./credit_entries.tsx";
import { Price } from "../request_price.tsx";
import { OutcomeBadge, speed, tokensPerSecond } from "../request_rows.tsx";
import { Waterfall } from "../waterfall.tsx";

/** Details of one request, without its content. */
export function RequestPage(
  { page, record, route, entries, keyName, email, perUsd }: {
    page: PageContext;
    record: RequestRecord;
    /** The current route; `undefined` if it no longer exists. */
    route: Route | undefined;
    entries: readonly Entry[];
    keyName: string;
    /** Email address of the account, if an operator views another account's request. */
    email: string | undefined;
    /** Credits for one US dollar, if the operator has set them. */
    perUsd: number | undefined;
  },
) {
  const failure = failureWords(record);
  const perSecond = tokensPerSecond(record);
  const facts: [string, Child][] = [
    ["Request", <code>{record.requestId}</code>],
    ...(email === undefined ? [] : [["Account", email] as [string, Child]]),
    ["Started", <Time ms={record.startedAtMs} />],
    ["Dialect", `${record.dialect}${record.streamed ? ", streamed" : ""}`],
    ["Model", record.route],
    ["Key", keyName],
    ["Upstream", repliedBy(record)],
    ...toldFacts(record),
    ["Attempts", number(record.attempts)],
    ...(perSecond === undefined
      ? []
      : [["Speed", `${speed(perSecond)} output tokens per second`] as [string, Child]]),
    ["Status", `${record.status} ${STATUS_TEXT[record.status] ?? ""}`],
    ["Outcome", <OutcomeBadge record={record} />],
    ...(record.ending === "complete" ? [] : reasonFacts(record)),
    ["First token", record.firstTokenMs === null ? "none" : duration(record.firstTokenMs)],
    ["Duration", duration(record.durationMs)],
    ["Dropped or adjusted fields", record.ignored || "none"],
    ...Object.entries(record.tags ?? {}).map(([name, value]): [string, Child] => [
      `Tag ${name}`,
      value,
    ]),
  ];
  return (
    <Layout page={page} title="Request">
      {failure === undefined ? null : (
        <section class="card why">
          <h2>Why it failed</h2>
          <p>{failure}</p>
        </section>
      )}
      <section class="card" data-charged={String(record.chargedCredits)}>
        <Facts class="two" rows={facts} />
      </section>
      <h2>Time</h2>
      <Waterfall record={record} />
      {record.attemptList === undefined ? null : <Attempts record={record} />}
      <h2>Price</h2>
      <Price record={record} route={route} perUsd={perUsd} />
      <h2>Ledger</h2>
      <Table<Entry>
        caption="Entries of this request"
        rows={entries}
        empty="No entries: nothing was charged."
        columns={[
          { name: "time", cell: ({ atMs }) => <Time ms={atMs} /> },
          { name: "lot", cell: (entry) => <span title={entry.lotId}>{lotName(entry)}</span> },
          { name: "credits", role: "figure", cell: ({ credits }) => number(credits) },
        ]}
      />
      <p>
        <a href="/console/requests">All requests</a>
      </p>
    </Layout>
  );
}

/** What the reply says of how it was made. */
function toldFacts(
  { upstreamModel, details: { model, id, tier, speed, region } }: RequestRecord,
): [string, Child][] {
  const facts: [string, Child][] = [
    ["Replied as", model === upstreamModel ? undefined : model],
    ["Upstream's request", id && <code>{id}</code>],
    ["Service tier", tier],
    ["Speed of the service", speed],
    ["Region", region],
  ];
  return facts.filter(([, value]) => value !== undefined);
}

function reasonFacts({ reason, message }: RequestRecord): [string, Child][] {
  if (reason === null) return [["Error code", "not recorded (before schema 10)"]];
  return [["Error code", <code>{reason}</code>], ["Message", message]];
}

type Attempt = NonNullable<RequestRecord["attemptList"]>[number];

function Attempts({ record: { attempts, attemptList = [] } }: { record: RequestRecord }) {
  const others = attempts - attemptList.length;
  return (
    <>
      <h2>Attempts</h2>
      <Table<Attempt>
        caption="Requests that were sent upstream, in order"
        rows={attemptList}
        empty=""
        columns={[
          {
            name: "upstream",
            cell: ({ upstream, key }) => key === undefined ? upstream : `${upstream}, ${key}`,
          },
          { name: "model", cell: ({ model }) => model },
          { name: "outcome", cell: ({ outcome }) => outcome },
          { name: "duration", role: "figure", cell: ({ durationMs }) => duration(durationMs) },
        ]}
      />
      {others > 0 ? <p class="quiet">{number(others)} more are not listed.</p> : null}
    </>
  );
}
