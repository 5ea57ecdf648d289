import type { Route } from "../../catalog/mod.ts";
import type { Entry } from "../../ledger/mod.ts";
import { STATUS_TEXT } from "../../std/mod.ts";
import { outcomeOf, repliedBy, type RequestRecord } from "../../usage/mod.ts";
import { Table, Time } from "../components.tsx";
import { duration, number } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";
import { OutcomeBadge } from "../request_rows.tsx";

/** Details of one request, without its content. */
export function RequestPage(
  { page, record, route, entries, keyName, email }: {
    page: PageContext;
    record: RequestRecord;
    /** The current route; `undefined` if it no longer exists. */
    route: Route | undefined;
    entries: readonly Entry[];
    keyName: string;
    /** Email address of the account, if an operator views another account's request. */
    email: string | undefined;
  },
) {
  const facts: [string, unknown][] = [
    ["Request", <code>{record.requestId}</code>],
    ...(email === undefined ? [] : [["Account", email] as [string, unknown]]),
    ["Started", <Time ms={record.startedAtMs} />],
    ["Dialect", `${record.dialect}${record.streamed ? ", streamed" : ""}`],
    ["Model", record.route],
    ["Key", keyName],
    ["Upstream", repliedBy(record)],
    ["Attempts", number(record.attempts)],
    ["Status", `${record.status} ${STATUS_TEXT[record.status] ?? ""}`],
    ["Outcome", <OutcomeBadge record={record} />],
    ...(record.ending === "complete" ? [] : reasonFacts(record)),
    ["First token", record.firstTokenMs === null ? "none" : duration(record.firstTokenMs)],
    ["Duration", duration(record.durationMs)],
    ["Dropped or adjusted fields", record.ignored || "none"],
    ...Object.entries(record.tags ?? {}).map(([name, value]): [string, unknown] => [
      `Tag ${name}`,
      value,
    ]),
  ];
  return (
    <Layout page={page} title="Request">
      <section class="card">
        <dl class="facts">
          {facts.map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </>
          ))}
        </dl>
      </section>
      {record.attemptList === undefined ? null : <Attempts record={record} />}
      <h2>Price</h2>
      <Price record={record} route={route} />
      <h2>Ledger</h2>
      <Table<Entry>
        caption="Entries of this request"
        rows={entries}
        empty="No entries: nothing was charged."
        columns={[
          { name: "time", cell: ({ atMs }) => <Time ms={atMs} /> },
          { name: "lot", cell: ({ lotId }) => <code>{lotId}</code> },
          {
            name: "credits",
            role: "figure",
            numeric: true,
            cell: ({ credits }) => number(credits),
          },
        ]}
      />
      <p>
        <a href="/console/requests">All requests</a>
      </p>
    </Layout>
  );
}

function reasonFacts({ reason, message }: RequestRecord): [string, unknown][] {
  if (reason === null) return [["Reason", "not recorded (before schema 10)"]];
  return [["Reason", <code>{reason}</code>], ["Message", message]];
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
          {
            name: "duration",
            role: "figure",
            numeric: true,
            cell: ({ durationMs }) => duration(durationMs),
          },
        ]}
      />
      {others > 0 ? <p class="quiet">{number(others)} more are not listed.</p> : null}
    </>
  );
}

interface PriceLine {
  readonly what: string;
  readonly tokens: number;
  readonly rate: number;
}

function Price({ record, route }: { record: RequestRecord; route: Route | undefined }) {
  if (record.usageSource === null) {
    return (
      <p class="empty">
        Requests that end this way are not charged ({outcomeOf(record)}).
      </p>
    );
  }
  // older records have no prices: use the route's current ones
  const prices = record.prices ?? (route && { ...route.prices, minimum: route.minimum });
  if (prices === undefined) {
    return (
      <p class="empty">
        Charged {number(record.chargedCredits)}; the model is no longer available.
      </p>
    );
  }
  const { minimum } = prices;
  const lines: PriceLine[] = [
    { what: "input", tokens: record.inputTokens - record.cachedTokens, rate: prices.input },
    { what: "cached input", tokens: record.cachedTokens, rate: prices.cached },
    { what: "output", tokens: record.outputTokens, rate: prices.output },
  ];
  const sum = lines.reduce((all, { tokens, rate }) => all + tokens * rate, 0) / 1e6;
  const unpaid = record.priceCredits - record.chargedCredits;
  return (
    <>
      <Table<PriceLine>
        caption="Price breakdown"
        rows={lines}
        empty=""
        columns={[
          { name: "part", cell: ({ what }) => what },
          { name: "tokens", numeric: true, cell: ({ tokens }) => number(tokens) },
          { name: "credits per million", numeric: true, cell: ({ rate }) => number(rate) },
          {
            name: "credits",
            role: "figure",
            numeric: true,
            cell: ({ tokens, rate }) => (tokens * rate / 1e6).toFixed(6),
          },
        ]}
      />
      <p>
        Total {sum.toFixed(6)}, rounded up to {number(Math.ceil(sum))}
        {Math.ceil(sum) < minimum ? `; this model costs at least ${number(minimum)}` : ""}. Price:
        {" "}
        <strong>{number(record.priceCredits)}</strong>, charged:{" "}
        <strong>{number(record.chargedCredits)}</strong>
        {unpaid > 0 ? ` (${number(unpaid)} exceeded the balance and was not collected)` : ""}.
        {record.reasoningTokens > 0
          ? ` ${number(record.reasoningTokens)} of the output tokens were reasoning.`
          : ""}
      </p>
      <p class="quiet">
        Tokens were{" "}
        {record.usageSource === "upstream" ? "reported by the upstream" : "counted by the gateway"}.
        {record.prices === undefined
          ? " The prices of this charge were not stored; current prices are shown."
          : ""}
      </p>
    </>
  );
}
