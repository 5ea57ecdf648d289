import {
  AccountError,
  type Accounts,
  type OwnedKey,
  type OwnedKeyFilter,
  ownersOfKeys,
  type Teams,
} from "../accounts/mod.ts";
import type { Database } from "../database/mod.ts";
import { periodsOf, readRange, ReportError, timeText, type UsageRange } from "./range.ts";
import { cacheHitRate } from "./report.ts";
import {
  type Column,
  type RowsQuery,
  type SummedRow,
  summedRows,
  SUMS,
  type Sums,
} from "./rows.ts";
import { sessionRows } from "./session_rows.ts";
import type { Dimension, UsageQuery } from "./usage_query.ts";

/** What reports are made of. */
export interface UsageParts {
  readonly database: Database;
  readonly accounts: Pick<Accounts, "get" | "byIds">;
  readonly teams: Pick<Teams, "get" | "list">;
  readonly now: () => number;
}

/** What a reader may see: the keys that an account pays for, or those of a team; all without either. */
export interface UsageScope {
  readonly accountId?: string | undefined;
  readonly teamId?: string | undefined;
}

/** Sums of requests. */
export interface UsageFigures {
  readonly requests: number;
  readonly errors: number;
  readonly input_tokens: number;
  /** Input tokens that upstreams had in their caches, and their share of the input, from 0 to 1. */
  readonly cached_tokens: number;
  readonly cache_hit_rate: number;
  readonly output_tokens: number;
  /** What cached input saved by the prices of each charge, rounded down. */
  readonly saved_credits: number;
  readonly credits: number;
  /** Mean duration of a request. */
  readonly average_ms: number;
}

/** Percentages by which figures grew; null where the period before had none. */
export type UsageChange = Readonly<
  Record<"requests" | "errors" | "input_tokens" | "output_tokens" | "credits", number | null>
>;

/** Figures, with those of the period before and the change if they are compared. */
export interface ComparedFigures extends UsageFigures {
  /** Failed requests by reason; not known by tag. */
  readonly failures?: Readonly<Record<string, number>> | undefined;
  readonly previous?: UsageFigures | undefined;
  readonly change?: UsageChange | undefined;
}

/** One group of a report. */
export interface UsageRow extends ComparedFigures {
  /** Values by grouping: times, model and key IDs, IDs of accounts and teams; empty where there is none. */
  readonly group: Readonly<Record<string, string>>;
  /** Names of what the group has IDs of. */
  readonly names: Readonly<Record<string, string>>;
  /** Whether it is the sum of all groups that are not among the top ones. */
  readonly isOthers: boolean;
}

/** A report of usage. */
export interface UsageReport {
  /** Times of the range, which is half-open. */
  readonly since: string;
  readonly until: string;
  readonly zone: string;
  /** Whether a bound was in the middle of an hour, at whose beginning it is now. */
  readonly rounded: boolean;
  readonly by: readonly Dimension[];
  /** Groups that had requests: in order of time, then those of most credits first. */
  readonly rows: readonly UsageRow[];
  readonly totals: ComparedFigures;
  /** The period before. */
  readonly previous?: { readonly since: string; readonly until: string } | undefined;
}

/** Rows of a report. */
const MAX_ROWS = 10_000;
const HOUR_MS = 3_600_000;
const TIMES: readonly Dimension[] = ["hour", "day", "month"];
/** What has IDs: only its names are known to people. */
const SESSION = "tag:session";

/**
 * Reports usage from roll-ups.
 *
 * @param parts Database, accounts and teams.
 * @param query What is asked for, as {@linkcode usageQuery} parses it.
 * @param scope What the reader may see.
 * @returns Rows and totals.
 * @throws {ReportError} If what is asked for does not exist or is too much; the message says what to do.
 */
export async function reportUsage(
  parts: UsageParts,
  query: UsageQuery,
  scope: UsageScope = {},
): Promise<UsageReport> {
  const { database, now } = parts;
  const { by, zone, since, until, compare } = query;
  checkGroupings(query);
  const [selected, firstMs] = await Promise.all([
    select(parts, query, scope),
    since === undefined ? firstDay(database) : 0,
  ]);
  const range = readRange({ since, until, zone, nowMs: now(), firstMs });
  const earlier: UsageRange = {
    ...range,
    sinceMs: range.sinceMs - (range.untilMs - range.sinceMs),
    untilMs: range.sinceMs,
  };
  const top = query.top === undefined
    ? undefined
    : await topGroups(database, query, selected, range, query.top);
  const rows = await groups(database, query, selected, { range, top });
  const before = compare
    ? await groups(database, query, selected, { range: earlier, top })
    : undefined;
  const names = await namesOf(parts, by, rows);
  const labels = (of: UsageRange) => labelsOf(by, zone, of);
  const matched = before === undefined ? undefined : matching(by, before, {
    from: labels(earlier),
    to: labels(range),
  });
  return {
    since: timeText(range.sinceMs),
    until: timeText(range.untilMs),
    zone,
    rounded: range.isRounded,
    by,
    rows: rows.map((row) => ({
      group: Object.fromEntries(by.map((one, at) => [one, nameOfGroup(one, row.group[at], zone)])),
      names: Object.fromEntries(by.flatMap((one, at) => {
        const name = names.get(`${one} ${row.group[at]}`);
        return name === undefined ? [] : [[one, name]];
      })),
      isOthers: top !== undefined && row.group.some((value) => value === null),
      ...figures(row, matched?.get(JSON.stringify(row.group)), before !== undefined),
    })),
    totals: figures(total(rows), before && total(before), before !== undefined),
    previous: compare
      ? { since: timeText(Math.max(0, earlier.sinceMs)), until: timeText(earlier.untilMs) }
      : undefined,
  };
}

/** Which keys and accounts a report is of. */
interface Selected {
  readonly accountIds: readonly string[] | undefined;
  readonly keyIds: readonly string[] | undefined;
  /** Teams or members of keys, if the report is grouped by them. */
  readonly owners: Readonly<Partial<Record<"team" | "member", ReadonlyMap<string, string>>>>;
}

function checkGroupings({ by, tag, top }: UsageQuery): void {
  if (new Set(by).size < by.length) throw new ReportError(`Cannot group by ${by[0]} twice.`);
  if (by.filter((one) => TIMES.includes(one)).length > 1) {
    throw new ReportError(
      `Cannot group by ${by.join(" and ")}: choose one of ${TIMES.join(", ")}.`,
    );
  }
  const tags = by.filter((one) => one.startsWith("tag:") || one === "reason").length;
  if (tags + (tag === undefined ? 0 : 1) > 1) {
    throw new ReportError(
      "Cannot combine two tags, or a tag and the reason: roll-ups have them one by one.",
    );
  }
  if (by.includes(SESSION) && by.length > 1) {
    throw new ReportError("Cannot group by session and another: sessions are only in the records.");
  }
  if (tag?.startsWith("session=")) {
    throw new ReportError(
      "Cannot filter by session: roll-ups do not have it. Group by tag:session.",
    );
  }
  if (top !== undefined && by.every((one) => TIMES.includes(one))) {
    throw new ReportError(`Cannot show the top groups by ${by[0]}: group by a noun as well.`);
  }
}

/** @throws {ReportError} If a noun does not exist. */
async function select(
  { database, accounts, teams }: UsageParts,
  { by, account, key, team, member }: UsageQuery,
  scope: UsageScope,
): Promise<Selected> {
  const found = async <T>(search: Promise<T>): Promise<T> => {
    try {
      return await search;
    } catch (error) {
      if (error instanceof AccountError) throw new ReportError(`${error.message}.`);
      throw error;
    }
  };
  const [paying, ofTeam, ofMember] = await Promise.all([
    account === undefined ? undefined : found(accounts.get(account)),
    team === undefined ? undefined : found(teams.get(team)),
    member === undefined ? undefined : found(accounts.get(member)),
  ]);
  const filters: OwnedKeyFilter[] = [
    ...key === undefined ? [] : [{ keyIds: [key] }],
    ...ofTeam === undefined ? [] : [{ teamId: ofTeam.id }],
    ...ofMember === undefined ? [] : [{ memberId: ofMember.id }],
    ...scope.teamId === undefined ? [] : [{ teamId: scope.teamId }],
  ];
  const lists = await Promise.all(filters.map((filter) => ownersOfKeys(database, filter)));
  const accountIds = [paying?.id, scope.accountId].filter((id) => id !== undefined);
  const [first, ...others] = lists;
  const keys = first?.filter(({ id, accountId }) =>
    others.every((list) => list.some((one) => one.id === id)) &&
    accountIds.every((one) => one === accountId)
  );
  const isGrouped = by.includes("team") || by.includes("member");
  const owned = isGrouped ? keys ?? await ownersOfKeys(database, { inTeam: true }) : [];
  return {
    keyIds: keys?.map(({ id }) => id),
    accountIds: keys !== undefined
      ? [...new Set(keys.map(({ accountId }) => accountId))]
      : new Set(accountIds).size > 1
      ? [] // an account that the reader may not see
      : accountIds.length === 0
      ? undefined
      : accountIds.slice(0, 1),
    owners: {
      ...by.includes("team") ? { team: ownersBy(owned, ({ teamId }) => teamId) } : {},
      ...by.includes("member") ? { member: ownersBy(owned, ({ memberId }) => memberId) } : {},
    },
  };
}

function ownersBy(
  keys: readonly OwnedKey[],
  ownerOf: (key: OwnedKey) => string | null,
): ReadonlyMap<string, string> {
  return new Map(keys.map((key) => [key.id, ownerOf(key) ?? ""]));
}

async function firstDay(database: Database): Promise<number> {
  const row = await database.one("select min(day_at_ms) as at from usage_days");
  return Number(row?.at ?? Number.MAX_SAFE_INTEGER);
}

/** The periods of a grouping by time; otherwise one, the range. */
function periods(by: readonly Dimension[], zone: string, range: UsageRange): RowsQuery["periods"] {
  const unit = by.find((one) => one === "day" || one === "month") as "day" | "month" | undefined;
  if (unit === undefined || (unit === "day" && zone === "UTC")) return [{ ...range, label: null }];
  return periodsOf(unit, zone, range).map(({ startsAtMs, sinceMs, untilMs }) => ({
    sinceMs,
    untilMs,
    label: startsAtMs,
  }));
}

function columnOf(dimension: Dimension, zone: string, { owners }: Selected): Column {
  switch (dimension) {
    case "hour":
      return { by: "hour" };
    case "day":
      return { by: zone === "UTC" ? "day" : "period" };
    case "month":
      return { by: "period" };
    case "model":
    case "key":
    case "account":
      return { by: dimension };
    case "team":
    case "member":
      return { by: "owner", owners: owners[dimension]! };
    default:
      return { by: "value" };
  }
}

function tagOf({ by, tag }: UsageQuery): RowsQuery["tag"] {
  const named = by.find((one) => one.startsWith("tag:"));
  if (named !== undefined) return { name: named.slice(4) };
  if (by.includes("reason")) return { name: ":reason" };
  if (tag === undefined) return undefined;
  const at = tag.indexOf("=");
  return { name: tag.slice(0, at), value: tag.slice(at + 1) };
}

/** A group with why its requests failed, as far as that is known. */
interface Group extends SummedRow {
  readonly failures?: Readonly<Record<string, number>>;
}

/** Reads the groups of a range. */
async function groups(
  database: Database,
  query: UsageQuery,
  selected: Selected,
  { range, top }: { readonly range: UsageRange; readonly top: readonly string[] | undefined },
): Promise<Group[]> {
  const { by, zone, model } = query;
  if (by.includes(SESSION)) {
    const rows = await sessionRows(database, { ...selected, model, range });
    if (top === undefined) return rows;
    const others = rows.filter(({ group }) => !top.includes(String(group[0])));
    const best = rows.filter(({ group }) => top.includes(String(group[0])));
    return others.length === 0 ? best : [...best, { ...total(others), group: [null] }];
  }
  const tag = tagOf(query);
  const rowsQuery: RowsQuery = {
    periods: periods(by, zone, range),
    columns: by.map((one) => columnOf(one, zone, selected)),
    accountIds: selected.accountIds,
    keyIds: selected.keyIds,
    models: model === undefined ? undefined : [model],
    tag,
    top,
    limit: MAX_ROWS + 1,
  };
  const rows = await summedRows(database, rowsQuery);
  if (rows.length > MAX_ROWS) {
    throw new ReportError(
      `The report has over ${
        MAX_ROWS.toLocaleString("en-US")
      } rows: choose a shorter range, fewer groups or the top ones.`,
    );
  }
  const sorted = rows.toSorted(orderOf(by));
  if (tag !== undefined || rows.every(({ errors }) => errors === 0)) return sorted;
  const failed = await summedRows(database, {
    ...rowsQuery,
    columns: [...rowsQuery.columns, { by: "value" }],
    tag: { name: ":reason" },
    limit: MAX_ROWS * 10,
  });
  const reasons = new Map<string, Record<string, number>>();
  for (const { group, requests } of failed) {
    const id = JSON.stringify(group.slice(0, -1));
    const known = reasons.get(id) ?? {};
    known[String(group.at(-1))] = requests;
    reasons.set(id, known);
  }
  return sorted.map((row) => ({ ...row, failures: reasons.get(JSON.stringify(row.group)) ?? {} }));
}

/** In order of time; then those of most credits first, the others last. */
function orderOf(by: readonly Dimension[]) {
  const time = by.findIndex((one) => TIMES.includes(one));
  return (a: SummedRow, b: SummedRow) =>
    (time < 0 ? 0 : Number(a.group[time]) - Number(b.group[time])) ||
    Number(a.group.includes(null)) - Number(b.group.includes(null)) ||
    b.credits - a.credits || b.requests - a.requests ||
    (JSON.stringify(a.group) < JSON.stringify(b.group) ? -1 : 1);
}

/** The groups of most credits over the whole range. */
async function topGroups(
  database: Database,
  query: UsageQuery,
  selected: Selected,
  range: UsageRange,
  count: number,
): Promise<string[]> {
  const noun = query.by.find((one) => !TIMES.includes(one))!;
  const rows = noun === SESSION
    ? (await groups(database, query, selected, { range, top: undefined })).slice(0, count)
    : await summedRows(database, {
      periods: [{ ...range, label: null }],
      columns: [columnOf(noun, query.zone, selected)],
      accountIds: selected.accountIds,
      keyIds: selected.keyIds,
      models: query.model === undefined ? undefined : [query.model],
      tag: tagOf(query),
      most: true,
      limit: count,
    });
  return rows.map(({ group }) => String(group[0] ?? ""));
}

function total(rows: readonly Group[]): Group {
  const sums = Object.fromEntries(
    SUMS.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)]),
  ) as Sums;
  const isKnown = rows.some(({ failures }) => failures !== undefined);
  if (!isKnown) return { ...sums, group: [] };
  const failures: Record<string, number> = {};
  for (const row of rows) {
    for (const [reason, count] of Object.entries(row.failures ?? {})) {
      failures[reason] = (failures[reason] ?? 0) + count;
    }
  }
  return { ...sums, failures, group: [] };
}

const NONE: Sums = Object.fromEntries(SUMS.map((name) => [name, 0])) as Sums;

function figures(row: Group, before: Sums | undefined, isCompared: boolean): ComparedFigures {
  const now = figuresOf(row);
  const compared = { ...now, ...row.failures && { failures: row.failures } };
  if (!isCompared) return compared;
  const previous = figuresOf(before ?? NONE);
  return {
    ...compared,
    previous,
    change: {
      requests: percentOf(now.requests, previous.requests),
      errors: percentOf(now.errors, previous.errors),
      input_tokens: percentOf(now.input_tokens, previous.input_tokens),
      output_tokens: percentOf(now.output_tokens, previous.output_tokens),
      credits: percentOf(now.credits, previous.credits),
    },
  };
}

function figuresOf(sums: Sums): UsageFigures {
  const { requests, errors, input_tokens, cached_tokens, output_tokens, credits } = sums;
  return {
    requests,
    errors,
    input_tokens,
    cached_tokens,
    cache_hit_rate: cacheHitRate(sums),
    output_tokens,
    saved_credits: Math.floor(sums.saved_millionths / 1_000_000),
    credits,
    average_ms: requests === 0 ? 0 : Math.round(sums.duration_ms / requests),
  };
}

/** To a tenth of a percent. */
function percentOf(now: number, before: number): number | null {
  return before === 0 ? null : Math.round((now - before) / before * 1_000) / 10;
}

/** The beginnings of all periods of a grouping by time. */
function labelsOf(by: readonly Dimension[], zone: string, range: UsageRange): readonly number[] {
  const unit = by.find((one) => TIMES.includes(one));
  if (unit === undefined) return [];
  if (unit === "hour") {
    return Array.from(
      { length: (range.untilMs - range.sinceMs) / HOUR_MS },
      (_, at) => range.sinceMs + at * HOUR_MS,
    );
  }
  return periodsOf(unit as "day" | "month", zone, range).map(({ startsAtMs }) => startsAtMs);
}

/** Groups of the period before, by the group that they are compared with: of times the one at the same place. */
function matching(
  by: readonly Dimension[],
  before: readonly Group[],
  { from, to }: { readonly from: readonly number[]; readonly to: readonly number[] },
): ReadonlyMap<string, Group> {
  const time = by.findIndex((one) => TIMES.includes(one));
  const places = new Map(from.map((label, at) => [label, to[at]]));
  return new Map(before.map((row) => {
    const group = row.group.map((value, at) =>
      at === time ? places.get(Number(value)) ?? null : value
    );
    return [JSON.stringify(group), row];
  }));
}

function nameOfGroup(
  dimension: Dimension,
  value: string | number | null | undefined,
  zone: string,
): string {
  if (value === null || value === undefined) return "others";
  if (!TIMES.includes(dimension)) return String(value);
  const ms = Number(value);
  if (zone === "UTC") {
    const chars = dimension === "hour" ? 13 : dimension === "day" ? 10 : 7;
    const text = new Date(ms).toISOString().slice(0, chars);
    return dimension === "hour" ? `${text}:00Z` : text;
  }
  return zonedText(dimension, ms, zone);
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** A time in a zone: `2026-11-05T10:00+01:00`, `2026-11-05` or `2026-11`. */
function zonedText(dimension: Dimension, ms: number, zone: string): string {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      timeZoneName: "longOffset",
    });
    formats.set(zone, format);
  }
  const parts = Object.fromEntries(
    format.formatToParts(ms).map(({ type, value }) => [type, value]),
  );
  const month = `${parts.year}-${parts.month}`;
  if (dimension === "month") return month;
  if (dimension === "day") return `${month}-${parts.day}`;
  const offset = parts.timeZoneName!.replace("GMT", "") || "+00:00";
  return `${month}-${parts.day}T${parts.hour}:${parts.minute}${offset}`;
}

/** Names of keys, accounts, members and teams, by grouping and ID. */
async function namesOf(
  { database, accounts, teams }: UsageParts,
  by: readonly Dimension[],
  rows: readonly SummedRow[],
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  for (const [at, dimension] of by.entries()) {
    const ids = [...new Set(rows.map(({ group }) => group[at]))]
      .filter((id) => typeof id === "string" && id !== "") as string[];
    if (ids.length === 0) continue;
    if (dimension === "key") {
      const keys = await ownersOfKeys(database, { keyIds: ids });
      const shared = Map.groupBy(keys, ({ name }) => name);
      for (const { id, name } of keys) {
        const isShared = shared.get(name)!.length > 1;
        names.set(`key ${id}`, isShared ? `${name} (${id})` : name);
      }
    } else if (dimension === "account" || dimension === "member") {
      for (const [id, { email }] of await accounts.byIds(ids)) {
        names.set(`${dimension} ${id}`, email);
      }
    } else if (dimension === "team") {
      for (const { id, name } of await teams.list()) names.set(`team ${id}`, name);
    }
  }
  return names;
}
