import type { Key } from "../../accounts/mod.ts";
import type { Route } from "../../catalog/mod.ts";
import type { Entry } from "../../ledger/mod.ts";
import { STATUS_TEXT } from "../../std/mod.ts";
import {
  type Outcome,
  outcomeOf,
  repliedBy,
  type RequestRecord,
  shortReasonOf,
} from "../../usage/mod.ts";
import { Badge, Table, Time } from "../components.tsx";
import { duration, number } from "../format.ts";
import { Layout, type PageContext } from "../layout.tsx";

/** Endings that can be filtered by. */
const ENDINGS: readonly (readonly [ending: string, words: string])[] = [
  ["complete", "complete"],
  ["refused", "rejected or gateway failed"],
  ["upstream_failed", "upstream failed"],
  ["client_left", "client disconnected"],
];

const TONES: Readonly<Record<Outcome, "good" | "bad" | "warn" | "calm">> = {
  "complete": "good",
  "rejected": "warn",
  "upstream failed": "bad",
  "gateway failed": "bad",
  "client disconnected": "calm",
  "failed": "bad",
};

function OutcomeBadge({ record }: { record: RequestRecord }) {
  const outcome = outcomeOf(record);
  return <Badge tone={TONES[outcome]}>{outcome}</Badge>;
}

/** Request records of an account, newest first, in pages. */
export function RequestsPage(
  { page, records, filter, models, keys, more }: {
    page: PageContext;
    records: readonly RequestRecord[];
    filter: Readonly<Record<"model" | "key" | "ending", string>>;
    models: readonly string[];
    keys: readonly Key[];
    /** Query of the next page. */
    more: string | undefined;
  },
) {
  const names = new Map(keys.map((key) => [key.id, key.name || key.hint]));
  return (
    <Layout page={page} title="Requests">
      <form method="get" action="/console/requests" class="row">
        <Choice name="model" chosen={filter.model} options={models.map((id) => [id, id])} />
        <Choice name="key" chosen={filter.key} options={[...names]} />
        <Choice
          name="ending"
          chosen={filter.ending}
          options={ENDINGS}
        />
        <button type="submit" class="plain">Filter</button>
      </form>
      <Table<RequestRecord>
        caption="Requests, newest first"
        rows={records}
        empty="No matching requests."
        columns={[
          {
            name: "time",
            cell: ({ requestId, startedAtMs }) => (
              <a href={`/console/requests/${requestId}`}>
                <Time ms={startedAtMs} />
              </a>
            ),
          },
          { name: "model", cell: ({ route }) => route },
          { name: "key", cell: ({ keyId }) => names.get(keyId) ?? keyId },
          { name: "outcome", cell: (record) => <OutcomeBadge record={record} /> },
          { name: "reason", cell: (record) => shortReasonOf(record) ?? "" },
          { name: "input", numeric: true, cell: ({ inputTokens }) => number(inputTokens) },
          { name: "output", numeric: true, cell: ({ outputTokens }) => number(outputTokens) },
          { name: "duration", numeric: true, cell: ({ durationMs }) => duration(durationMs) },
          { name: "credits", numeric: true, cell: ({ chargedCredits }) => number(chargedCredits) },
        ]}
      />
      {more === undefined ? null : (
        <p>
          <a href={`/console/requests?${more}`}>Older requests</a>
        </p>
      )}
    </Layout>
  );
}

function Choice(
  { name, chosen, options }: {
    name: string;
    chosen: string;
    options: readonly (readonly [string, string])[];
  },
) {
  return (
    <label class="field">
      <span>{name}</span>
      <select name={name}>
        <option value="">any</option>
        {options.map(([value, words]) => (
          <option value={value} selected={value === chosen}>{words}</option>
        ))}
      </select>
    </label>
  );
}

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
          { name: "credits", numeric: true, cell: ({ credits }) => number(credits) },
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
          { name: "duration", numeric: true, cell: ({ durationMs }) => duration(durationMs) },
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
          { name: "", cell: ({ what }) => what },
          { name: "tokens", numeric: true, cell: ({ tokens }) => number(tokens) },
          { name: "credits per million", numeric: true, cell: ({ rate }) => number(rate) },
          {
            name: "credits",
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
