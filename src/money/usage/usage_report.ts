import type { Database } from "../../ground/database/mod.ts";
import { figures, type Group, total } from "./figures.ts";
import { foldedRows } from "./folded_rows.ts";
import { nameOfGroup, namesOf } from "./group_names.ts";
import {
  periodBefore,
  periodsOf,
  readRange,
  ReportError,
  timeText,
  type UsageRange,
} from "./range.ts";
import type { UsageReport } from "./report_shape.ts";
import { type SummedRow, summedRows } from "./rows.ts";
import type { Column, RowsQuery } from "./rows_query.ts";
import { select, type Selected, type UsageParts, type UsageScope } from "./selection.ts";
import { sessionRows } from "./session_rows.ts";
import { type Dimension, TIMES, type UsageQuery } from "./usage_query.ts";

/** How a report is made. */
export interface ReportOptions {
  /** Whether it says why requests failed: of each row and of all, of all together, or not. Default: `rows`. */
  readonly reasons?: "rows" | "totals" | "none" | undefined;
  /** The groups of most credits over the range, most first, if they are known: they need not be found again. */
  readonly topGroups?: readonly string[] | undefined;
}

/** Rows of a report. */
const MAX_ROWS = 10_000;
const HOUR_MS = 3_600_000;
/** Reported from records. */
const SESSION = "tag:session";

/**
 * Reports usage from roll-ups.
 *
 * @param parts Database, accounts and teams.
 * @param query What is asked for, as {@linkcode usageQuery} parses it.
 * @param scope What the reader may see.
 * @param options Whether it says why requests failed.
 * @returns Rows and totals.
 * @throws {ReportError} If what is asked for does not exist or is too much; the message says what to do.
 */
export async function reportUsage(
  parts: UsageParts,
  query: UsageQuery,
  scope: UsageScope = {},
  { reasons = "rows", topGroups: known }: ReportOptions = {},
): Promise<UsageReport> {
  const { database, now } = parts;
  const { by, zone, since, until, compare } = query;
  checkGroupings(query);
  const [selected, firstMs] = await Promise.all([
    select(parts, query, scope),
    since === undefined ? firstDay(database) : 0,
  ]);
  const range = readRange({ since, until, zone, nowMs: now(), firstMs });
  const earlier = periodBefore(range, { zone, since });
  const { rows: summed, top } = await toppedGroups(database, query, selected, {
    range,
    known,
  });
  const rows = reasons === "rows"
    ? await withReasons(database, query, selected, { range, top, rows: summed })
    : summed;
  const failures = reasons === "totals"
    ? await totalReasons(database, query, selected, { range, rows })
    : undefined;
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
    totals: figures(
      { ...total(rows), ...failures },
      before && total(before),
      before !== undefined,
    ),
    previous: compare
      ? { since: timeText(Math.max(0, earlier.sinceMs)), until: timeText(earlier.untilMs) }
      : undefined,
  };
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

/** What is read of roll-ups for the groups of a range. */
function rowsQueryOf(
  query: UsageQuery,
  selected: Selected,
  range: UsageRange,
): RowsQuery {
  const { by, zone, model } = query;
  return {
    periods: periods(by, zone, range),
    columns: by.map((one) => columnOf(one, zone, selected)),
    accountIds: selected.accountIds,
    keyIds: selected.keyIds,
    models: model === undefined ? undefined : [model],
    tag: tagOf(query),
    limit: MAX_ROWS + 1,
  };
}

/** Reads the groups of a range. */
async function groups(
  database: Database,
  query: UsageQuery,
  selected: Selected,
  { range, top }: { readonly range: UsageRange; readonly top: readonly string[] | undefined },
): Promise<Group[]> {
  const { by, model } = query;
  if (by.includes(SESSION)) {
    const rows = await sessionRows(database, { ...selected, model, range });
    if (top === undefined) return rows;
    const others = rows.filter(({ group }) => !top.includes(String(group[0])));
    const best = rows.filter(({ group }) => top.includes(String(group[0])));
    return others.length === 0 ? best : [...best, { ...total(others), group: [null] }];
  }
  const rows = await foldedRows(database, rowsQueryOf(query, selected, range), top);
  if (rows.length > MAX_ROWS) {
    throw new ReportError(
      `The report has over ${
        MAX_ROWS.toLocaleString("en-US")
      } rows: choose a shorter range, fewer groups or the top ones.`,
    );
  }
  return rows.toSorted(orderOf(by));
}

/** Reads the groups of a range, and which of them are the top ones, if only those are wanted. */
async function toppedGroups(
  database: Database,
  query: UsageQuery,
  selected: Selected,
  { range, known }: {
    readonly range: UsageRange;
    readonly known: readonly string[] | undefined;
  },
): Promise<{ readonly rows: readonly Group[]; readonly top: readonly string[] | undefined }> {
  const { by, top: count } = query;
  if (count === undefined) {
    return { rows: await groups(database, query, selected, { range, top: undefined }), top: count };
  }
  if (known !== undefined) {
    const top = known.slice(0, count);
    return { rows: await groups(database, query, selected, { range, top }), top };
  }
  const at = by.findIndex((one) => !TIMES.includes(one));
  // reading the groups once costs less than reading which are the top ones first, unless there are many of them
  if (by[at] !== SESSION && (by.length === 1 || by[at] === "model")) {
    const all = await foldedRows(database, rowsQueryOf(query, selected, range));
    if (all.length <= MAX_ROWS) {
      const top = topOf(all, at, count);
      return { rows: folded(all, at, top).toSorted(orderOf(by)), top };
    }
  }
  const top = await topGroups(database, query, selected, range, count);
  return { rows: await groups(database, query, selected, { range, top }), top };
}

/** The values of a column with most credits in all. */
function topOf(rows: readonly SummedRow[], at: number, count: number): string[] {
  return [...Map.groupBy(rows, ({ group }) => String(group[at] ?? ""))]
    .map(([name, own]) => ({ ...total(own), name }))
    .toSorted((a, b) =>
      b.credits - a.credits || b.requests - a.requests || (a.name < b.name ? -1 : 1)
    )
    .slice(0, count).map(({ name }) => name);
}

/** Makes all groups one whose value of a column is not among the top ones. */
function folded(rows: readonly SummedRow[], at: number, top: readonly string[]): Group[] {
  const known = new Set(top);
  const isTop = ({ group }: SummedRow) => known.has(String(group[at] ?? ""));
  const others = rows.filter((row) => !isTop(row))
    .map((row) => ({ ...row, group: row.group.with(at, null) }));
  return [
    ...rows.filter(isTop),
    ...[...Map.groupBy(others, ({ group }) => JSON.stringify(group)).values()]
      .map((same) => ({ ...total(same), group: same[0]!.group })),
  ];
}

/** Says of each group why its requests failed; roll-ups by tag do not. */
async function withReasons(
  database: Database,
  query: UsageQuery,
  selected: Selected,
  { range, top, rows }: {
    readonly range: UsageRange;
    readonly top: readonly string[] | undefined;
    readonly rows: readonly Group[];
  },
): Promise<readonly Group[]> {
  if (!hasReasons(query, rows)) return rows;
  const rowsQuery = rowsQueryOf(query, selected, range);
  const failed = await foldedRows(database, {
    ...rowsQuery,
    columns: [...rowsQuery.columns, { by: "value" }],
    tag: REASON,
    onlyRequests: true,
    limit: MAX_ROWS * 10,
  }, top);
  const reasons = new Map<string, Record<string, number>>();
  for (const { group, requests } of failed) {
    const id = JSON.stringify(group.slice(0, -1));
    const known = reasons.get(id) ?? {};
    known[String(group.at(-1))] = requests;
    reasons.set(id, known);
  }
  return rows.map((row) => ({ ...row, failures: reasons.get(JSON.stringify(row.group)) ?? {} }));
}

/** Why requests of all groups together failed. */
async function totalReasons(
  database: Database,
  query: UsageQuery,
  selected: Selected,
  { range, rows }: { readonly range: UsageRange; readonly rows: readonly Group[] },
): Promise<Pick<Group, "failures"> | undefined> {
  if (!hasReasons(query, rows)) return undefined;
  const failed = await summedRows(database, {
    ...rowsQueryOf(query, selected, range),
    periods: [{ ...range, label: null }],
    columns: [{ by: "value" }],
    tag: REASON,
    onlyRequests: true,
    limit: MAX_ROWS,
  });
  return {
    failures: Object.fromEntries(failed.map(({ group, requests }) => [String(group[0]), requests])),
  };
}

const REASON = { name: ":reason" } as const;

/** Whether there is something to say about failures. */
function hasReasons(query: UsageQuery, rows: readonly Group[]): boolean {
  return tagOf(query) === undefined && !query.by.includes(SESSION) &&
    rows.some(({ errors }) => errors > 0);
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
      ...rowsQueryOf(query, selected, range),
      periods: [{ ...range, label: null }],
      columns: [columnOf(noun, query.zone, selected)],
      most: true,
      limit: count,
    });
  return rows.map(({ group }) => String(group[0] ?? ""));
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
