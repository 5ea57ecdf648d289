import type { Value } from "../../ground/database/mod.ts";
import { ROLL_UPS } from "../ledger/mod.ts";
import { tagNoun, type TotalsNoun } from "./day_totals.ts";
import { daysOf, oneByOne, type Piece, piecesOf } from "./pieces.ts";
import { type Column, isTime, type RowsQuery } from "./rows_query.ts";
import { DAY_MS, HOUR_MS } from "../../ground/time.ts";
import {
  elementsOf,
  integerAt,
  integersOf,
  sumOf,
  textsOf,
  THEN_JOIN,
  withoutIndex,
} from "../../ground/sql/mod.ts";

/** Roll-ups that a part of a statement reads, and what it calls their columns. */
export interface Source {
  /** `from`, and what is joined. */
  readonly from: string;
  readonly where: readonly string[];
  /** Expressions for its time, and for the label of its period. */
  readonly at: string;
  readonly label: string;
  /** What its sums are multiplied by; nothing for 1. */
  readonly sign: string;
  readonly model: string;
  readonly account: string;
  readonly value: string;
}

/** The arguments of a statement. */
export class Arguments {
  readonly values: Value[] = [];

  /** Adds one. @returns Its place. */
  bind(value: Value): string {
    return `?${this.values.push(value)}`;
  }

  /** Adds a list. @returns The right side of `in`, or a table that has each value once. */
  listed(values: readonly string[]): string {
    return textsOf(this.bind(JSON.stringify([...new Set(values)])));
  }
}

/** Lookups of an account in an hour or a day, above which all accounts are read instead. */
const MAX_LOOKUPS = 20_000;

/** Ranges of roll-ups, above which they are looked up as a list, so that a statement stays short. */
const MAX_RANGES = 8;

/** Roll-ups of each key. */
const OF_KEYS = { model: "route", account: "account_id", value: "usage_tags.value" } as const;

/** Those of a list of pieces. */
function ofPieces(pieces: readonly Piece[]) {
  const isSigned = pieces.some(({ sign }) => sign < 0);
  return { ...OF_KEYS, label: "pieces.label", sign: isSigned ? "pieces.sign * " : "" } as const;
}

/** Totals of all accounts have one noun. */
const TOTALS = Object.fromEntries(
  ["model", "account", "value"].map((noun) => [noun, "usage_day_totals.value"]),
) as Record<keyof typeof OF_KEYS, string>;

/** The value of a column in a roll-up: of owners their keys. */
export function expressionOf({ by }: Column, source: Omit<Source, "from" | "where">): string {
  switch (by) {
    case "hour":
      return source.at;
    case "day":
      return `${source.at} / ${DAY_MS} * ${DAY_MS}`;
    case "period":
      return source.label;
    case "key":
    case "owner":
      return "key_id";
    default:
      return source[by];
  }
}

/** Whose totals have all that is asked for; undefined where only roll-ups of each key have it. */
function totalsNoun(query: RowsQuery): TotalsNoun | undefined {
  const { columns, among, accountIds, keyIds, models, tag } = query;
  if (accountIds !== undefined || keyIds !== undefined) return undefined;
  const read = among === undefined ? columns : [...columns, among.column];
  const nouns = new Set(read.map(({ by }) => by).filter((by) => !isTime(by)));
  if (models !== undefined) nouns.add("model");
  if (tag !== undefined) nouns.add("value");
  if (nouns.size > 1) return undefined;
  const [noun = "model"] = nouns;
  if (noun === "model" || noun === "account") return noun;
  return noun === "value" ? tagNoun(tag!.name) : undefined;
}

/**
 * Chooses which roll-ups are read for what is asked.
 *
 * @param args What the sources' arguments are added to.
 */
export function sourcesOf(query: RowsQuery, sums: readonly string[], args: Arguments): Source[] {
  const { columns, accountIds, keyIds, tag } = query;
  const pieces = piecesOf(query.periods, columns.some(({ by }) => by === "hour"));
  const days = pieces.filter(({ source }) => source === "days");
  const hours = pieces.filter(({ source }) => source === "hours");
  const noun = totalsNoun(query);
  const sources: Source[] = [];
  const add = (pieces: readonly Piece[], make: () => Source) => {
    if (pieces.length > 0) sources.push(make());
  };
  if (noun !== undefined) {
    add(days, () => totalsOf(query, { days, noun }, args));
  }
  // hours of all accounts are few
  if (noun === "model") {
    add(days, () => hoursOfAll(query, { pieces: oneByOne(days), noun }, args));
    add(hours, () => hoursOfAll(query, { pieces: hours }, args));
    return sources;
  }
  const isAll = accountIds === undefined && keyIds === undefined;
  const inRanges = (pieces: readonly Piece[]) => isAll && pieces.length <= MAX_RANGES;
  const lookedUp = accountIds !== undefined &&
      accountIds.length * oneByOne(pieces).length <= MAX_LOOKUPS
    ? accountIds
    : undefined;
  if (noun === undefined && inRanges(days)) {
    sources.push(...days.map((piece) => rangeOf(query, piece, sums, args)));
  } else {
    add(days, () => listOf(query, days, { lookedUp, noun }, args));
  }
  if (tag !== undefined && inRanges(hours)) {
    sources.push(...hours.map((piece) => rangeOf(query, piece, sums, args)));
  } else {
    add(
      hours,
      () =>
        tag === undefined
          ? hoursByAccount(query, hours, args)
          : listOf(query, hours, { lookedUp, noun: undefined }, args),
    );
  }
  return sources;
}

/** Conditions of what is asked for. The + keeps an index out of it, as all roll-ups of a range are read. */
function filtersOf(
  { keyIds, models, among, tag }: RowsQuery,
  source: Omit<Source, "from" | "where">,
  args: Arguments,
): string[] {
  return [
    ...keyIds === undefined ? [] : [`${withoutIndex("key_id")} in ${args.listed(keyIds)}`],
    ...models === undefined ? [] : [`${source.model} in ${args.listed(models)}`],
    ...among === undefined
      ? []
      : [`${withoutIndex(expressionOf(among.column, source))} in ${args.listed(namesOf(among))}`],
    ...tag?.value === undefined ? [] : [`${source.value} = ${args.bind(tag.value)}`],
  ];
}

/** Values of a column: of owners their keys. */
function namesOf({ column, names }: NonNullable<RowsQuery["among"]>): readonly string[] {
  if (column.by !== "owner") return names;
  return [...column.owners].flatMap(([key, owner]) => names.includes(owner) ? [key] : []);
}

/** A list of pieces as rows; with a noun only the days of which there are no totals of it. */
function given(pieces: readonly Piece[], args: Arguments, noun?: TotalsNoun): string {
  const list = pieces.map(({ sinceMs, untilMs, sign, label }) => [sinceMs, untilMs, sign, label]);
  const number = (at: number) => integerAt("piece.value", at);
  const fields = `${number(0)} as since_ms, ${number(1)} as until_ms, ${number(2)} as sign,
    ${number(3)} as label`;
  const without = noun === undefined ? "" : `where not exists (
        select 1 from usage_day_totals as known
        where known.day_at_ms = ${number(0)} and known.noun = ${args.bind(noun)}
      )`;
  return `(select ${fields} from ${
    elementsOf(args.bind(JSON.stringify(list)), "piece")
  } ${without}) as pieces`;
}

function within(column: string): string {
  return `${column} >= pieces.since_ms and ${column} < pieces.until_ms`;
}

/** Totals of days that are over. */
function totalsOf(
  query: RowsQuery,
  { days, noun }: { readonly days: readonly Piece[]; readonly noun: TotalsNoun },
  args: Arguments,
): Source {
  const source = { ...ofPieces(days), ...TOTALS, at: "usage_day_totals.day_at_ms" };
  return {
    ...source,
    from: `from ${given(oneByOne(days), args)} ${THEN_JOIN} usage_day_totals
      on usage_day_totals.day_at_ms = pieces.since_ms and usage_day_totals.noun = ${
      args.bind(noun)
    }`,
    where: filtersOf(query, source, args),
  };
}

/** Hours of all accounts. */
function hoursOfAll(
  query: RowsQuery,
  { pieces, noun }: { readonly pieces: readonly Piece[]; readonly noun?: TotalsNoun },
  args: Arguments,
): Source {
  const source = { ...ofPieces(pieces), at: "hour_at_ms" };
  return {
    ...source,
    from: `from ${given(pieces, args, noun)} ${THEN_JOIN} usage_totals on ${within("hour_at_ms")}`,
    where: filtersOf(query, source, args),
  };
}

/** Hours of accounts one after the other: of all that had requests on those days, where none are named. */
function hoursByAccount(query: RowsQuery, hours: readonly Piece[], args: Arguments): Source {
  const source = { ...ofPieces(hours), at: "hour_at_ms" };
  const wanted = query.accountIds !== undefined ? args.listed(query.accountIds) : `(
        select distinct account_id as value
        from (select value as day_at from ${
    integersOf(args.bind(JSON.stringify(daysOf(hours))))
  }) as found
          ${THEN_JOIN} usage_days on day_at_ms = day_at
      )`;
  return {
    ...source,
    from: `from ${wanted} as wanted cross join ${given(hours, args)}
      ${THEN_JOIN} usage_hours on account_id = wanted.value and ${within("hour_at_ms")}`,
    where: filtersOf(query, source, args),
  };
}

/** A list of days, or of hours of a tag: each is looked up for each of some accounts, or read whole. */
function listOf(
  query: RowsQuery,
  pieces: readonly Piece[],
  { lookedUp, noun }: {
    readonly lookedUp: readonly string[] | undefined;
    readonly noun: TotalsNoun | undefined;
  },
  args: Arguments,
): Source {
  const { accountIds } = query;
  const { join, at, of } = rollUpsOf(query, pieces[0]!.source, args);
  const source = { ...ofPieces(pieces), at };
  const filters = filtersOf(query, source, args);
  if (lookedUp !== undefined) {
    return {
      ...source,
      from: `from ${given(oneByOne(pieces), args)} cross join ${args.listed(lookedUp)} as wanted
        ${join} on ${
        [...of, `${at} = pieces.since_ms`, "account_id = wanted.value"].join(" and ")
      }`,
      where: filters,
    };
  }
  return {
    ...source,
    from: `from ${given(noun === undefined ? pieces : oneByOne(pieces), args, noun)}
      ${join} on ${[...of, within(at)].join(" and ")}`,
    where: accountIds === undefined
      ? filters
      : [...filters, `${withoutIndex("account_id")} in ${args.listed(accountIds)}`],
  };
}

/** One range of an index. */
function rangeOf(
  query: RowsQuery,
  piece: Piece,
  sums: readonly string[],
  args: Arguments,
): Source {
  const { source: unit, sinceMs, untilMs, sign, label } = piece;
  const { from, at, of } = rollUpsOf(query, unit, args);
  const source = {
    ...OF_KEYS,
    at,
    label: args.bind(label),
    sign: sign < 0 ? "-" : "",
  };
  const where = [
    ...of,
    `${at} >= ${args.bind(sinceMs)}`,
    `${at} < ${args.bind(untilMs)}`,
    ...filtersOf(query, source, args),
  ];
  if (query.tag !== undefined) return { ...source, from, where };
  const first = firstOf(query.columns).join(", ");
  return {
    ...source,
    from: `from (select ${first}, ${sums.map((name) => `${sumOf(name)} as ${name}`).join(", ")}
      ${from} where ${where.join(" and ")} group by ${first}) as found`,
    where: [],
  };
}

/** How roll-ups of each key are read, their time, and conditions that say which of a table's rows are of days or of hours. */
function rollUpsOf({ tag }: RowsQuery, unit: Piece["source"], args: Arguments) {
  if (tag === undefined) {
    return { from: "from usage_days", join: `${THEN_JOIN} usage_days`, at: "day_at_ms", of: [] };
  }
  const spanMs = unit === "days" ? DAY_MS : HOUR_MS;
  return {
    from: "from usage_tags",
    join: `${THEN_JOIN} usage_tags`,
    at: "at_ms",
    of: [`name = ${args.bind(tag.name)}`, `span_ms = ${spanMs}`],
  };
}

/**
 * The first columns of a day's roll-ups that groups need. In their order the roll-ups lie, so that adding them up needs
 * no sorting, and leaves fewer rows to sort.
 */
function firstOf(columns: readonly Column[]): readonly string[] {
  const places: Partial<Record<Column["by"], number>> = { model: 4, key: 3, owner: 3, account: 2 };
  return ROLL_UPS.usage_days.slice(0, Math.max(1, ...columns.map(({ by }) => places[by] ?? 1)));
}
