import { can, type Key, type Session } from "../../people/accounts/mod.ts";
import { entriesOfCause } from "../../money/ledger/mod.ts";
import { dateIn } from "../../ground/amounts/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import {
  ID_PREFIX_CHARS,
  readRange,
  recordsByIdPrefix,
  ReportError,
  type RequestRecord,
  requestRecord,
  searchRecords,
} from "../../money/usage/mod.ts";
import { dollarRateOf } from "./dollars.ts";
import { type GuardedApp, may } from "./guard.ts";
import { RequestPage } from "./pages/request.tsx";
import { FILTER_NAMES, queryOf, type RequestsFilter, RequestsPage } from "./pages/requests.tsx";
import {
  type ConsoleParts,
  notFound,
  page,
  pageOf,
  type PageRequest,
  seeOther,
} from "./request.tsx";
import { DAY_MS } from "../../ground/time.ts";

/** Records of a page, which stays below 100 KB with long names. */
const PAGE_ROWS = 36;
const MAX_CHARS = 200;
const CURSOR = /^(\d{1,15})\.([^.]*)/;
const ENDINGS = ["complete", "failed", "refused", "upstream_failed", "client_left"];

/** What was found, and where the next page begins. */
interface Found {
  readonly records: readonly RequestRecord[];
  readonly more?: string | undefined;
  readonly searchedToMs?: number | undefined;
}

/** Adds the requests of an account, and one of them in detail. */
export function requestRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { accounts, catalog, config, database, keys, now } = parts;

  /** A request with its key, for those who may see it: whose account pays for the key or uses it, or who may see all. */
  const requestOf = async (requestId: string, session: Session) => {
    const record = await requestRecord(database, requestId);
    if (record === undefined) return undefined;
    const key = await keys.byId(record.keyId);
    const isOwn = [record.accountId, key?.memberId].includes(session.account.id);
    return isOwn || can(session, "usage.read") ? { record, key } : undefined;
  };
  app.get(
    "/console/requests",
    may("self.use", async (c, session) => {
      const { account } = session;
      const filter = filterOf(c);
      const seenMs = now();
      if (/^req_\w{28}$/.test(filter.q)) {
        const found = await requestOf(filter.q, session);
        if (found !== undefined) return seeOther(c, `/console/requests/${found.record.requestId}`);
      }
      const own = await keys.list(account);
      let found: Found = { records: [] };
      let error: string | undefined;
      try {
        found = await find(parts, c, { filter, own, accountId: account.id });
      } catch (fault) {
        if (!(fault instanceof ReportError)) throw fault;
        error = fault.message;
      }
      const isFirst = c.req.query("before") === undefined;
      return await page(
        c,
        <RequestsPage
          page={pageOf(c)}
          records={found.records}
          filter={filter}
          models={catalog().routes.map(({ id }) => id)}
          keys={own}
          more={found.more}
          searchedToMs={found.searchedToMs}
          error={error}
          isLive={isFirst && queryOf({ ...filter, zone: "" }) === ""}
          isFirst={isFirst}
          seenMs={seenMs}
        />,
        error === undefined ? undefined : STATUS_CODE.BadRequest,
      );
    }),
  );
  app.get(
    "/console/requests/:id",
    may("self.use", async (c, session) => {
      const { account } = session;
      const id = (c.req.param("id") ?? "").slice(0, 100);
      const found = await requestOf(id, session);
      if (found === undefined) return notFound(c);
      const { record, key } = found;
      const owner = record.accountId === account.id
        ? undefined
        : await accounts.byId(record.accountId);
      return await page(
        c,
        <RequestPage
          page={pageOf(c)}
          record={record}
          route={catalog().find(record.route)}
          entries={await entriesOfCause(database, record.requestId)}
          keyName={key === undefined ? record.keyId : key.name || key.hint}
          email={owner?.email}
          perUsd={dollarRateOf(config)}
        />,
      );
    }),
  );
}

/** Finds what a filter asks for, a page of it. @throws {ReportError} If it asks for what cannot be. */
async function find(
  { database, now }: ConsoleParts,
  c: PageRequest,
  { filter, own, accountId }: {
    filter: RequestsFilter;
    own: readonly Key[];
    accountId: string;
  },
): Promise<Found> {
  if (filter.q !== "") {
    const prefix = filter.q.startsWith("req_") ? filter.q : `req_${filter.q}`;
    if (prefix.length < ID_PREFIX_CHARS) {
      throw new ReportError(
        `Enter at least the first ${ID_PREFIX_CHARS} characters of the request ID.`,
      );
    }
    return {
      records: await recordsByIdPrefix(database, { accountId, prefix, limit: PAGE_ROWS }),
    };
  }
  if (filter.status !== "" && !ENDINGS.includes(filter.status)) {
    throw new ReportError(`Unknown status. Use one of ${ENDINGS.join(", ")}.`);
  }
  // where the page before ended
  const [, atMs, requestId] = CURSOR.exec((c.req.query("before") ?? "").slice(0, MAX_CHARS)) ??
    [];
  // what a member's key of a team uses is in the records of the account that pays for it
  const key = own.find(({ id }) => id === filter.key);
  const { records, next, isPartial } = await searchRecords(database, {
    accountId: key?.accountId ?? accountId,
    route: filter.model || undefined,
    keyId: filter.key || undefined,
    ending: filter.status || undefined,
    tag: tagOf(filter.tag),
    ...rangeOf(filter, now()),
    before: requestId === undefined ? undefined : { startedAtMs: Number(atMs), requestId },
    limit: PAGE_ROWS,
  });
  return {
    records,
    more: next && queryOf(filter, `${next.startedAtMs}.${next.requestId}`),
    searchedToMs: isPartial ? next?.startedAtMs : undefined,
  };
}

function filterOf(c: PageRequest): RequestsFilter {
  const values = FILTER_NAMES.map((name) =>
    [name, (c.req.query(name) ?? "").trim().slice(0, MAX_CHARS)] as const
  );
  return Object.fromEntries(values) as RequestsFilter; // whose type does not keep the names
}

/** @throws {ReportError} If it is not a name and a value. */
function tagOf(text: string): { name: string; value: string } | undefined {
  if (text === "") return undefined;
  const match = /^([^=]+)=(.+)$/.exec(text);
  if (match === null) throw new ReportError("Write a tag as name=value, such as project=alpha.");
  return { name: match[1]!.trim(), value: match[2]!.trim() };
}

/** @throws {ReportError} If a date or the time zone is invalid. */
function rangeOf(
  { range, from, to, zone }: RequestsFilter,
  nowMs: number,
): { sinceMs?: number; untilMs?: number } {
  if (range === "" && from === "" && to === "") return {};
  const hasDates = from !== "" || to !== "";
  const { sinceMs, untilMs } = readRange({
    since: (hasDates ? from : range) || undefined,
    until: to === "" ? undefined : nextDay(to),
    zone: zone || "UTC",
    nowMs,
    firstMs: 0,
  });
  return { sinceMs, ...(to === "" ? {} : { untilMs }) };
}

/** The date after one, so that the last day is part of a range. */
function nextDay(date: string): string {
  const atMs = /-.*-/.test(date) ? dateIn(date) : undefined; // not of a month
  return atMs === undefined ? date : new Date(atMs + DAY_MS).toISOString().slice(0, 10);
}
