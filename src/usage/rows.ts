import * as z from "zod";
import type { Database, Value } from "../database/mod.ts";
import { SUMS } from "../ledger/mod.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Sums of requests. */
export type Sums = Readonly<Record<typeof SUMS[number], number>>;

/** Roll-ups that are added up, or taken away again, for a period. */
interface Piece {
  readonly source: "days" | "hours";
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly sign: 1 | -1;
  /** The period's beginning; null where rows are not grouped by it. */
  readonly label: number | null;
}

/** What a column of the result is. */
export type Column =
  /** The hour or UTC day of a roll-up, or the period's label. */
  | { readonly by: "hour" | "day" | "period" }
  | { readonly by: "model" | "account" | "key" | "value" }
  /** What a key belongs to, by key ID. */
  | { readonly by: "owner"; readonly owners: ReadonlyMap<string, string> };

/** Rows to be added up. */
export interface RowsQuery {
  readonly periods: readonly {
    readonly sinceMs: number;
    readonly untilMs: number;
    readonly label: number | null;
  }[];
  readonly columns: readonly Column[];
  /** Undefined for all. */
  readonly accountIds?: readonly string[] | undefined;
  readonly keyIds?: readonly string[] | undefined;
  readonly models?: readonly string[] | undefined;
  /** Roll-ups of a tag instead of all; with a value only that. */
  readonly tag?: { readonly name: string; readonly value?: string | undefined } | undefined;
  /** Only what is of one of these groups. */
  readonly among?: { readonly column: Column; readonly names: readonly string[] } | undefined;
  /** Whether the groups of most credits come first. */
  readonly most?: boolean;
  /** Whether requests are counted only: the other sums are 0. */
  readonly onlyRequests?: boolean;
  readonly limit: number;
}

/** One group: a value for each column; null for the others. */
export interface SummedRow extends Sums {
  readonly group: readonly (string | number | null)[];
}

/** Without a tag a day's roll-up is of all its hours, so that most of a range need not be read hour by hour. */
function piecesOf({ periods, columns }: RowsQuery, isOfAll: boolean): Piece[] {
  const isHourly = columns.some(({ by }) => by === "hour");
  return periods.flatMap(({ sinceMs, untilMs, label }): Piece[] => {
    const [from, until] = [nearestDay(sinceMs), nearestDay(untilMs)];
    const hours = (a: number, b: number, sign: 1 | -1): Piece[] =>
      a < b ? [{ source: "hours", sinceMs: a, untilMs: b, sign, label }] : [];
    if (isHourly || isOfAll || from >= until) return hours(sinceMs, untilMs, 1);
    return [
      { source: "days", sinceMs: from, untilMs: until, sign: 1, label },
      ...hours(sinceMs, from, 1),
      ...hours(from, sinceMs, -1),
      ...hours(until, untilMs, 1),
      ...hours(untilMs, until, -1),
    ];
  });
}

function nearestDay(ms: number): number {
  return Math.round(ms / DAY_MS) * DAY_MS;
}

/** Hours or days one by one, to be looked up with an account each. */
function oneByOne(pieces: readonly Piece[]): Piece[] {
  return pieces.flatMap((piece) => {
    const stepMs = piece.source === "days" ? DAY_MS : HOUR_MS;
    return Array.from({ length: (piece.untilMs - piece.sinceMs) / stepMs }, (_, at) => ({
      ...piece,
      sinceMs: piece.sinceMs + at * stepMs,
      untilMs: piece.sinceMs + (at + 1) * stepMs,
    }));
  });
}

/** Lookups of an account in an hour or a day, above which all accounts are read instead. */
const MAX_LOOKUPS = 20_000;

/** Ranges of roll-ups, above which they are looked up as a list. */
const MAX_RANGES = 8;

/** Pieces that are read as ranges of an index: those of a source that has few, so that the statement stays short. */
function rangesOf(pieces: readonly Piece[], sources: readonly Piece["source"][]): Piece[] {
  return sources.flatMap((source) => {
    const own = pieces.filter((piece) => piece.source === source);
    return own.length > MAX_RANGES ? [] : own;
  });
}

/**
 * The first columns of a day's roll-ups that groups need. In their order the roll-ups lie, so that adding them up needs
 * no sorting, and leaves fewer rows to sort.
 */
function firstOf(columns: readonly Column[]): readonly string[] {
  const all = ["day_at_ms", "account_id", "key_id", "route"];
  const last = Math.max(
    1,
    ...columns.map(({ by }) =>
      by === "model" ? 4 : by === "key" || by === "owner" ? 3 : by === "account" ? 2 : 1
    ),
  );
  return all.slice(0, last);
}

/** The value of a column in a roll-up; owners are put in for keys later. */
function expressionOf({ by }: Column): string {
  switch (by) {
    case "hour":
      return "at_ms";
    case "day":
      return `at_ms / ${DAY_MS} * ${DAY_MS}`;
    case "period":
      return "label";
    case "model":
      return "route";
    case "account":
      return "account_id";
    case "value":
      return "usage_tags.value";
    default:
      return "key_id";
  }
}

/** Whether a roll-up is of one of some groups. The + keeps indexes out of it, as all roll-ups of a range are read. */
function isOneOf(
  { column, names }: NonNullable<RowsQuery["among"]>,
  listed: (values: readonly string[]) => string,
): string {
  if (column.by !== "owner") return `+${expressionOf(column)} in ${listed(names)}`;
  return `+key_id in ${
    listed([...column.owners].flatMap(([key, owner]) => names.includes(owner) ? [key] : []))
  }`;
}

/** Whether a column is a time. */
export function isTime(by: Column["by"]): boolean {
  return by === "hour" || by === "day" || by === "period";
}

/** Sums of no requests. */
export const NONE: Sums = Object.fromEntries(SUMS.map((name) => [name, 0])) as Sums;

const sumsRow = z.object(
  Object.fromEntries(SUMS.map((name) => [name, z.int()])) as Record<
    typeof SUMS[number],
    z.ZodInt
  >,
);

/**
 * Adds up roll-ups by groups.
 *
 * @returns Groups that had requests, in no order unless `most`.
 */
export async function summedRows(database: Database, query: RowsQuery): Promise<SummedRow[]> {
  if (query.accountIds?.length === 0 || query.keyIds?.length === 0) return [];
  const { sql, args } = rowsStatement(query);
  const rows = await database.all(sql, args);
  return rows.map((row) => ({
    ...sumsRow.parse({ ...NONE, ...row }),
    group: query.columns.map((_, at) => row[`group_${at}`] ?? null),
  }));
}

function rowsStatement(query: RowsQuery): { readonly sql: string; readonly args: Value[] } {
  const { columns, accountIds, keyIds, models, tag, among, most = false, limit } = query;
  const args: Value[] = [];
  const bind = (value: Value) => `?${args.push(value)}`;
  const listed = (values: readonly string[]) =>
    `(select value from json_each(${bind(JSON.stringify(values))}))`;

  // hours of all accounts are few
  const read = among === undefined ? columns : [...columns, among.column];
  const isOfAll = accountIds === undefined && keyIds === undefined && tag === undefined &&
    read.every(({ by }) => by !== "account" && by !== "key" && by !== "owner");
  const pieces = piecesOf(query, isOfAll);
  const names = query.onlyRequests ? ["requests"] : SUMS;
  const isSigned = pieces.some(({ sign }) => sign < 0);
  const filters = [
    // the + keeps the index out of it, which would be searched for each key, hour by hour
    ...keyIds === undefined ? [] : [`+key_id in ${listed(keyIds)}`],
    ...models === undefined ? [] : [`route in ${listed(models)}`],
    ...among === undefined ? [] : [isOneOf(among, listed)],
    ...tag?.value === undefined ? [] : [`usage_tags.value = ${bind(tag.value)}`],
  ];
  const inner = columns.map((column, at) => `${expressionOf(column)} as raw_${at}`);
  const sums = names.map((name) => `sum(${isSigned ? "sign * " : ""}${name}) as ${name}`);
  const given = (source: Piece["source"], isOneByOne: boolean) => {
    const own = pieces.filter((piece) => piece.source === source);
    const list = (isOneByOne ? oneByOne(own) : own)
      .map(({ sinceMs, untilMs, sign, label }) => [sinceMs, untilMs, sign, label]);
    return `(select value ->> 0 as since_ms, value ->> 1 as until_ms, value ->> 2 as sign,
        value ->> 3 as label from json_each(${bind(JSON.stringify(list))})) as pieces`;
  };
  const wanted = () => {
    if (accountIds !== undefined) return `${listed(accountIds)} as wanted`;
    // of a long range only the hours of its first and last day are read
    const days = new Set(
      pieces.filter(({ source }) => source === "hours").flatMap(({ sinceMs, untilMs }) => {
        const firstMs = Math.floor(sinceMs / DAY_MS) * DAY_MS;
        const count = Math.ceil((untilMs - firstMs) / DAY_MS);
        return Array.from({ length: count }, (_, at) => firstMs + at * DAY_MS);
      }),
    );
    return `(select distinct account_id as value
        from (select value as day_at from json_each(${bind(JSON.stringify([...days]))}))
          cross join usage_days on day_at_ms = day_at) as wanted`;
  };
  const steps = oneByOne(pieces).length;
  const ofAccounts = accountIds !== undefined && accountIds.length * steps <= MAX_LOOKUPS;
  const within = (column: string) => `${column} >= pieces.since_ms and ${column} < pieces.until_ms`;
  const ranges = accountIds === undefined && keyIds === undefined && !isOfAll
    ? rangesOf(pieces, tag === undefined ? ["days"] : ["days", "hours"])
    : [];
  const inRanges = ranges.map((piece) => {
    const { source, sinceMs, untilMs, sign, label } = piece;
    const [since, until] = [bind(sinceMs), bind(untilMs)];
    const from = tag === undefined
      ? `from (select ${firstOf(columns).join(", ")}, ${
        names.map((name) => `sum(${name}) as ${name}`)
      }
          from usage_days where day_at_ms >= ${since} and day_at_ms < ${until}
            ${filters.map((filter) => `and ${filter}`).join(" ")}
          group by ${firstOf(columns).join(", ")})`
      : `from usage_tags where name = ${bind(tag.name)}
          and span_ms = ${source === "days" ? DAY_MS : HOUR_MS}
          and at_ms >= ${since} and at_ms < ${until}
          ${filters.map((filter) => `and ${filter}`).join(" ")}`;
    const atMs = tag === undefined ? "day_at_ms" : "at_ms";
    const shown = [
      ...inner.map((text) => text.replace(/^label /, `${bind(label)} `)),
      ...names.map((name) => `${sign < 0 ? "-" : ""}sum(${name}) as ${name}`),
    ];
    return `select ${shown.join(", ").replaceAll(/\bat_ms\b/g, atMs)} ${from} ${
      columns.length === 0 ? "" : `group by ${columns.map((_, at) => at + 1).join(", ")}`
    }`;
  });
  const rest = new Set(ranges.map(({ source }) => source));
  const branches = (["days", "hours"] as const).filter((source) =>
    !rest.has(source) && pieces.some((piece) => piece.source === source)
  ).map((source) => {
    const rows = tag !== undefined
      ? `${given(source, ofAccounts)} ${ofAccounts ? `cross join ${wanted()}` : ""}
        cross join usage_tags on name = ${bind(tag.name)}
          and span_ms = ${source === "days" ? DAY_MS : HOUR_MS} and ${
        ofAccounts ? "at_ms = pieces.since_ms and account_id = wanted.value" : within("at_ms")
      }`
      : isOfAll
      ? `${given(source, false)} cross join usage_totals on ${within("hour_at_ms")}`
      : source === "hours"
      ? `${wanted()} cross join ${given(source, false)}
        cross join usage_hours on account_id = wanted.value and ${within("hour_at_ms")}`
      : `${given(source, ofAccounts)} ${ofAccounts ? `cross join ${wanted()}` : ""}
        cross join usage_days on ${
        ofAccounts
          ? "day_at_ms = pieces.since_ms and account_id = wanted.value"
          : within("day_at_ms")
      }`;
    const atMs = tag !== undefined ? "at_ms" : source === "hours" ? "hour_at_ms" : "day_at_ms";
    const own = accountIds === undefined || ofAccounts || source === "hours" && tag === undefined
      ? filters
      : [...filters, `+account_id in ${listed(accountIds)}`];
    return [
      `select ${[...inner, ...sums].join(", ").replaceAll(/\bat_ms\b/g, atMs)}`,
      rows,
      `${own.length === 0 ? "" : `where ${own.join(" and ")}`} ${
        columns.length === 0 ? "" : `group by ${columns.map((_, at) => at + 1).join(", ")}`
      }`,
    ];
  }).map(([select, rows, rest]) => select + " from " + rows + " " + rest);

  const owners: string[] = [];
  const outer = columns.map((column, at) => {
    let value = `raw_${at}`;
    if (column.by === "owner") {
      const json = JSON.stringify(Object.fromEntries(column.owners));
      owners.push(
        `left join (select key as id, value as label from json_each(${bind(json)})) as owners_${at}
          on owners_${at}.id = raw_${at}`,
      );
      value = `coalesce(owners_${at}.label, '')`;
    }
    return `${value} as group_${at}`;
  });
  const sql = `select ${
    [...outer, ...names.map((name) => `sum(${name}) as ${name}`)].join(", ")
  } from (${[...inRanges, ...branches].join(" union all ")}) ${owners.join(" ")}
    ${columns.length === 0 ? "" : `group by ${columns.map((_, at) => at + 1).join(", ")}`}
    having sum(requests) > 0 ${most ? "order by sum(credits) desc, sum(requests) desc, 1" : ""}
    limit ${bind(limit)}`;
  return { sql, args };
}
