import { toldApart } from "../../../ground/platform/mod.ts";
import type { Key } from "../../../people/accounts/mod.ts";
import type { RequestRecord } from "../../../money/usage/mod.ts";
import { Field, Name, Select, Table, Time } from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";
import { requestColumns, rowIdOf } from "../request_rows.tsx";
import { RANGES as USAGE_RANGES } from "../usage_choices.tsx";

/** Endings that can be filtered by. */
const STATUSES: readonly (readonly [status: string, words: string])[] = [
  ["complete", "complete"],
  ["failed", "failed (all kinds)"],
  ["refused", "rejected or gateway failed"],
  ["upstream_failed", "upstream failed"],
  ["client_left", "client disconnected"],
];

/** Ranges that can be chosen; days are those of the reader's time zone. */
const RANGES = USAGE_RANGES.toSpliced(1, 0, ["24h", "24 hours"]);

/** Fields of the page's filter, as its address has them; empty for none. */
export const FILTER_NAMES = [
  "q",
  "range",
  "from",
  "to",
  "zone",
  "model",
  "key",
  "status",
  "tag",
] as const;

/** What the page was asked for. */
export type RequestsFilter = Readonly<Record<typeof FILTER_NAMES[number], string>>;

/** Request records of an account, newest first, in pages. */
export function RequestsPage(
  { page, records, filter, models, keys, more, searchedToMs, error, isLive, isFirst, seenMs }: {
    page: PageContext;
    records: readonly RequestRecord[];
    filter: RequestsFilter;
    models: readonly string[];
    keys: readonly Key[];
    /** Query of the next page. */
    more: string | undefined;
    /** How far back was searched, if there may be older ones that match. */
    searchedToMs: number | undefined;
    error: string | undefined;
    /** Whether new requests are added while the page is open. */
    isLive: boolean;
    isFirst: boolean;
    /** When the records were read. */
    seenMs: number;
  },
) {
  const names = toldApart(keys);
  const isFiltered = FILTER_NAMES.some((name) => name !== "zone" && filter[name] !== "");
  const isPaidByPool = ({ teamId, accountId, memberId }: Key) =>
    teamId !== null && accountId !== memberId;
  const hasDates = filter.from !== "" || filter.to !== "";
  return (
    <Layout page={page} title="Requests">
      <form method="get" action="/console/requests" class="filters">
        <div class="row">
          <label class="field">
            <span>Request ID</span>
            <input
              name="q"
              type="search"
              value={filter.q}
              placeholder="req_…"
              maxlength={100}
              autocomplete="off"
              spellcheck={false}
            />
          </label>
          <Choice
            label="Range"
            name="range"
            chosen={hasDates ? "" : filter.range}
            options={RANGES}
          />
          <Choice
            label="Model"
            name="model"
            chosen={filter.model}
            options={models.map((id) => [id, id])}
          />
          <Choice label="Key" name="key" chosen={filter.key} options={[...names]} />
          <Choice label="Status" name="status" chosen={filter.status} options={STATUSES} />
          <button type="submit" class="plain">Show</button>
        </div>
        <details open={hasDates || filter.tag !== ""}>
          <summary>Dates and tags</summary>
          <div class="row">
            <Field label="From" name="from" type="date" value={filter.from} />
            <Field label="To" name="to" type="date" value={filter.to} />
            <label class="field">
              <span>Time zone</span>
              <input
                name="zone"
                value={filter.zone || "UTC"}
                maxlength={64}
                autocomplete="off"
                data-reader-zone={filter.zone === ""}
              />
            </label>
            <Field label="Tag" name="tag" value={filter.tag} placeholder="project=alpha" />
          </div>
        </details>
        {filter.key === "" && keys.some(isPaidByPool) && (
          <p class="quiet">Choose a key of a team to see its requests: its pool pays for them.</p>
        )}
        {isFiltered && (
          <p>
            <a href="/console/requests">Clear all filters</a>
          </p>
        )}
      </form>
      {error === undefined ? null : <p class="error" role="alert">{error}</p>}
      {isLive && (
        <p class="quiet" data-part="in-flight-words">
          New requests appear by themselves.
        </p>
      )}
      <div
        data-part={isLive ? "requests" : undefined}
        data-rows={isLive ? "" : undefined}
        data-seen={isLive ? String(seenMs) : undefined}
      >
        {error === undefined && (
          <Table<RequestRecord>
            caption="Requests, newest first"
            rows={records}
            rowId={rowIdOf}
            empty={emptyWords({
              isFiltered,
              isPartial: searchedToMs !== undefined,
              hasTeamKeys: keys.some(isPaidByPool),
            })}
            columns={requestColumns(names)}
          />
        )}
      </div>
      {searchedToMs === undefined ? null : (
        <p class="quiet">
          Searched back to <Time ms={searchedToMs} />.
        </p>
      )}
      <p class="pages" data-older={isLive ? "" : undefined}>
        {more === undefined ? null : (
          <a href={`/console/requests?${more}`}>
            {searchedToMs === undefined ? "Older requests" : "Search older requests"}
          </a>
        )}
        {isFirst ? null : <a href={`/console/requests?${queryOf(filter)}`}>Newest requests</a>}
      </p>
      {filter.q !== "" && records.length === 0 && error === undefined && (
        <p class="quiet">
          Nothing begins with <Name text={filter.q} code />{" "}
          among the requests of this account. Records are kept for a limited time.
        </p>
      )}
    </Layout>
  );
}

function emptyWords(
  { isFiltered, isPartial, hasTeamKeys }: {
    isFiltered: boolean;
    isPartial: boolean;
    hasTeamKeys: boolean;
  },
) {
  if (isPartial) return "No matching requests yet: search older ones below.";
  if (isFiltered) return "No matching requests.";
  return hasTeamKeys ? "No requests with keys of your own yet." : (
    <>
      No requests yet. <a href="/console/keys">Create a key</a>, or try a model in the{" "}
      <a href="/console/playground">playground</a>.
    </>
  );
}

/** The query of the page with a filter, and where its page begins. */
export function queryOf(filter: RequestsFilter, before?: string): string {
  const given = Object.entries(filter).filter(([name, value]) =>
    value !== "" && !(name === "zone" && value === "UTC")
  );
  return new URLSearchParams([...given, ...(before === undefined ? [] : [["before", before]])])
    .toString();
}

function Choice(
  { label, name, chosen, options }: {
    label: string;
    name: string;
    chosen: string;
    options: readonly (readonly [string, string])[];
  },
) {
  // one that is no longer offered stays chosen
  const isOffered = chosen === "" || options.some(([value]) => value === chosen);
  const all = [["", "any"] as const, ...options, ...(isOffered ? [] : [chosen])];
  return <Select label={label} name={name} options={all} value={chosen} />;
}
