import type { Database } from "../../ground/database/mod.ts";
import { type Group, total } from "./figures.ts";
import { foldedRows } from "./folded_rows.ts";
import { periodsOf, ReportError, type UsageRange } from "./range.ts";
import { type SummedRow, summedRows } from "./rows.ts";
import type { Column, RowsQuery } from "./rows_query.ts";
import type { Selected } from "./selection.ts";
import { sessionRows } from "./session_rows.ts";
import { type Dimension, SESSION, TIMES, type UsageQuery } from "./usage_query.ts";

/** Rows of a report. */
const MAX_ROWS = 10_000;
const REASON = { name: ":reason" } as const;

/** Groups of a range, and which of them are the top ones if only those are wanted. */
interface ToppedGroups {
  readonly rows: readonly Group[];
  readonly top: readonly string[] | undefined;
}

/** The groups of a report: from roll-ups, of sessions from records. */
export class ReportGroups {
  readonly #database: Database;
  readonly #query: UsageQuery;
  readonly #selected: Selected;

  constructor(database: Database, query: UsageQuery, selected: Selected) {
    this.#database = database;
    this.#query = query;
    this.#selected = selected;
  }

  /** Reads the groups of a range; all that are not among the top ones are one. */
  async of(range: UsageRange, top?: readonly string[]): Promise<Group[]> {
    if (this.#isBySession) {
      const rows = await this.#sessions(range);
      return top === undefined ? rows : folded(rows, 0, top);
    }
    const rows = await foldedRows(this.#database, this.#rowsQuery(range), top);
    if (rows.length > MAX_ROWS) {
      throw new ReportError(
        `The report has over ${
          MAX_ROWS.toLocaleString("en-US")
        } rows: choose a shorter range, fewer groups or the top ones.`,
      );
    }
    return rows.toSorted(orderOf(this.#query.by));
  }

  /** Reads the groups of a range. @param known The top ones, if they are known. */
  async topped(range: UsageRange, known?: readonly string[]): Promise<ToppedGroups> {
    const { by, top: count } = this.#query;
    if (count === undefined) return { rows: await this.of(range), top: undefined };
    const at = by.findIndex((one) => !TIMES.includes(one));
    // reading the groups once costs less than reading which are the top ones first, unless there are many of them
    if (known === undefined && (by.length === 1 || by[at] === "model")) {
      const all = this.#isBySession
        ? await this.#sessions(range)
        : await foldedRows(this.#database, this.#rowsQuery(range));
      if (this.#isBySession || all.length <= MAX_ROWS) {
        const top = topOf(all, at, count);
        return { rows: folded(all, at, top).toSorted(orderOf(by)), top };
      }
    }
    const top = known?.slice(0, count) ?? await this.#topGroups(range, by[at]!, count);
    return { rows: await this.of(range, top), top };
  }

  /** Says of each group why its requests failed; roll-ups by tag do not. */
  async withReasons(range: UsageRange, { rows, top }: ToppedGroups): Promise<readonly Group[]> {
    if (!this.#hasReasons(rows)) return rows;
    const rowsQuery = this.#rowsQuery(range);
    const failed = await foldedRows(this.#database, {
      ...rowsQuery,
      columns: [...rowsQuery.columns, { by: "value" }],
      tag: REASON,
      onlyRequests: true,
      limit: MAX_ROWS * 10,
    }, top);
    const reasons = Map.groupBy(failed, ({ group }) => JSON.stringify(group.slice(0, -1)));
    return rows.map((row) => ({
      ...row,
      failures: Object.fromEntries(
        (reasons.get(JSON.stringify(row.group)) ?? [])
          .map(({ group, requests }) => [String(group.at(-1)), requests]),
      ),
    }));
  }

  /** Why requests of all groups together failed; undefined if that is not known. */
  async reasons(range: UsageRange, rows: readonly Group[]): Promise<Group["failures"]> {
    if (!this.#hasReasons(rows)) return undefined;
    const failed = await summedRows(this.#database, {
      ...this.#rowsQuery(range),
      periods: [{ ...range, label: null }],
      columns: [{ by: "value" }],
      tag: REASON,
      onlyRequests: true,
    });
    return Object.fromEntries(failed.map(({ group, requests }) => [String(group[0]), requests]));
  }

  /** Whether there is something to say about failures. */
  #hasReasons(rows: readonly Group[]): boolean {
    return tagOf(this.#query) === undefined && !this.#isBySession &&
      rows.some(({ errors }) => errors > 0);
  }

  get #isBySession(): boolean {
    return this.#query.by.includes(SESSION);
  }

  #sessions(range: UsageRange): Promise<SummedRow[]> {
    return sessionRows(this.#database, { ...this.#selected, model: this.#query.model, range });
  }

  /** What is read of roll-ups. */
  #rowsQuery(range: UsageRange): RowsQuery {
    const { by, zone, model } = this.#query;
    return {
      periods: periods(by, zone, range),
      columns: by.map((one) => columnOf(one, zone, this.#selected)),
      accountIds: this.#selected.accountIds,
      keyIds: this.#selected.keyIds,
      models: model === undefined ? undefined : [model],
      tag: tagOf(this.#query),
      limit: MAX_ROWS + 1,
    };
  }

  /** The groups of most credits over the whole range. */
  async #topGroups(range: UsageRange, noun: Dimension, count: number): Promise<string[]> {
    const rows = await summedRows(this.#database, {
      ...this.#rowsQuery(range),
      periods: [{ ...range, label: null }],
      columns: [columnOf(noun, this.#query.zone, this.#selected)],
      most: true,
      limit: count,
    });
    return rows.map(({ group }) => String(group[0] ?? ""));
  }
}

/** The periods of a grouping by time; otherwise one, the range. */
function periods(by: readonly Dimension[], zone: string, range: UsageRange): RowsQuery["periods"] {
  const unit = by.find((one) => one === "day" || one === "month") as "day" | "month" | undefined;
  if (unit === undefined || (unit === "day" && zone === "UTC")) return [{ ...range, label: null }];
  return periodsOf(unit, zone, range)
    .map(({ startsAtMs, ...bounds }) => ({ ...bounds, label: startsAtMs }));
}

function columnOf(dimension: Dimension, zone: string, { owners }: Selected): Column {
  switch (dimension) {
    case "day":
      return { by: zone === "UTC" ? "day" : "period" };
    case "month":
      return { by: "period" };
    case "hour":
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
  if (by.includes("reason")) return REASON;
  if (tag === undefined) return undefined;
  const at = tag.indexOf("=");
  return { name: tag.slice(0, at), value: tag.slice(at + 1) };
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

/** In order of time; then those of most credits first, the others last. */
function orderOf(by: readonly Dimension[]) {
  const time = by.findIndex((one) => TIMES.includes(one));
  return (a: SummedRow, b: SummedRow) =>
    (time < 0 ? 0 : Number(a.group[time]) - Number(b.group[time])) ||
    Number(a.group.includes(null)) - Number(b.group.includes(null)) ||
    b.credits - a.credits || b.requests - a.requests ||
    (JSON.stringify(a.group) < JSON.stringify(b.group) ? -1 : 1);
}
