import { type Database, forReports } from "../../ground/database/mod.ts";
import { untilNow } from "./bounds.ts";
import { figures, type Group, total } from "./figures.ts";
import { nameOfGroup, namesOf } from "./group_names.ts";
import {
  periodBefore,
  periodsOf,
  readRange,
  ReportError,
  timeText,
  type UsageRange,
} from "./range.ts";
import { DAY_MS, HOUR_MS } from "../../ground/time.ts";
import { ReportGroups } from "./report_groups.ts";
import type { UsageReport } from "./report_shape.ts";
import { select, type UsageParts, type UsageScope } from "./selection.ts";
import { type Dimension, SESSION, TIMES, type UsageQuery } from "./usage_query.ts";

/** Ranges of more days are cut to those with usage. */
const LONG_DAYS = 1_000;
const MAX_COMPARED_DAYS = 4_000;

/** How a report is made. */
export interface ReportOptions {
  /** Whether it says why requests failed: of each row and of all, of all together, or not. Default: `rows`. */
  readonly reasons?: "rows" | "totals" | "none" | undefined;
  /** The groups of most credits over the range, most first, if they are known: they need not be found again. */
  readonly topGroups?: readonly string[] | undefined;
}

/**
 * Reports usage from roll-ups.
 *
 * @param query What is asked for, as {@linkcode usageQuery} parses it.
 * @param scope What the reader may see.
 * @param options Whether it says why requests failed.
 * @throws {ReportError} If what is asked for does not exist or is too much; the message says what to do.
 */
export async function reportUsage(
  parts: UsageParts,
  query: UsageQuery,
  scope: UsageScope = {},
  { reasons = "rows", topGroups: known }: ReportOptions = {},
): Promise<UsageReport> {
  const { now } = parts;
  const database = forReports(parts.database);
  const { by, zone, since, until, compare } = query;
  checkGroupings(query);
  const [selected, firstMs] = await Promise.all([
    select(parts, query, scope),
    since === undefined ? firstDay(database) : 0,
  ]);
  const range = readRange({ since, until, zone, nowMs: now(), firstMs });
  if (compare) checkCompared(range, by);
  const earlier = periodBefore(range, { zone, since });
  const used = (one: UsageRange) => usedPart(database, one, now());
  const read = await used(range);
  const groups = new ReportGroups(database, query, selected);
  const topped = await groups.topped(read, known);
  const { top } = topped;
  const rows = reasons === "rows" ? await groups.withReasons(read, topped) : topped.rows;
  const failures = reasons === "totals" ? await groups.reasons(read, rows) : undefined;
  const before = compare ? await groups.of(await used(earlier), top) : undefined;
  const names = await namesOf(parts, by, rows);
  const labels = (of: UsageRange) => labelsOf(by, zone, of);
  const matched = before && matching(by, before, { from: labels(earlier), to: labels(range) });
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
      { ...total(rows), ...failures && { failures } },
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

/** @throws {ReportError} If the periods of a range are too many to find for each the one that it is compared with. */
function checkCompared({ sinceMs, untilMs }: UsageRange, by: readonly Dimension[]): void {
  const time = by.find((one) => TIMES.includes(one));
  if (time === undefined || untilMs - sinceMs <= MAX_COMPARED_DAYS * DAY_MS) return;
  throw new ReportError(
    `Cannot compare over ${
      MAX_COMPARED_DAYS.toLocaleString("en-US")
    } days by ${time}: choose a shorter range.`,
  );
}

/** The part of a range in which there can be usage: years without any have as many periods as others, and each takes its time. */
async function usedPart(
  database: Database,
  range: UsageRange,
  nowMs: number,
): Promise<UsageRange> {
  if (range.untilMs - range.sinceMs <= LONG_DAYS * DAY_MS) return range;
  const latestMs = range.untilMs - HOUR_MS;
  const sinceMs = Math.min(Math.max(range.sinceMs, await firstDay(database)), latestMs);
  const untilMs = Math.max(Math.min(range.untilMs, untilNow(nowMs)), sinceMs + HOUR_MS);
  return { ...range, sinceMs, untilMs };
}

async function firstDay(database: Database): Promise<number> {
  const row = await database.one("select min(day_at_ms) as at from usage_days");
  return Number(row?.at ?? Number.MAX_SAFE_INTEGER);
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
