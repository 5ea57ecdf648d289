import * as z from "zod";
import { dateIn, instantIn } from "../../ground/amounts/mod.ts";
import type { Database } from "../../ground/database/mod.ts";
import { parseCsv } from "../../ground/std/mod.ts";
import { ReportError, type UsageRange } from "./range.ts";
import { DAY_MS } from "../../ground/time.ts";
import { paddedHex, sumOf } from "../../ground/sql/mod.ts";

/** Tokens of one upstream and day, as somebody says. */
export interface TokenSums {
  readonly input: number;
  readonly output: number;
}

/** One upstream and day. */
export interface ReconciledDay {
  /** A day of UTC, such as `2026-11-25`. */
  readonly day: string;
  readonly upstream: string;
  /** Replies that were charged. */
  readonly requests: number;
  /** Of them, replies that reported both input and output. */
  readonly reporting: number;
  /** What the gateway counted of all of them. */
  readonly counted: TokenSums;
  /** The same of those that reported, to be compared with what they reported. */
  readonly countedOfReporting: TokenSums;
  /** What they reported, believed or not. */
  readonly reported: TokenSums;
  /** What was charged. */
  readonly charged: TokenSums;
  /** What the provider billed; undefined if its list does not have the day. */
  readonly billed: TokenSums | undefined;
}

/** What a provider billed for one day. */
export interface BilledDay extends TokenSums {
  readonly day: string;
  /** Undefined if the list is of one upstream. */
  readonly upstream: string | undefined;
}

const row = z.object({
  at_ms: z.int(),
  upstream: z.string(),
  requests: z.int(),
  reporting: z.int(),
  counted_input: z.int(),
  counted_output: z.int(),
  of_input: z.int(),
  of_output: z.int(),
  reported_input: z.int(),
  reported_output: z.int(),
  charged_input: z.int(),
  charged_output: z.int(),
});

const IS_REPORTING = "reported_input is not null and reported_output is not null";

/** Requests by the time in their IDs, which begins with the milliseconds. */
const DAYS = `select started_at_ms / ${DAY_MS} * ${DAY_MS} as at_ms, upstream,
    count(*) as requests, count(*) filter (where ${IS_REPORTING}) as reporting,
    coalesce(${sumOf("counted_input")}, 0) as counted_input,
    coalesce(${sumOf("counted_output")}, 0) as counted_output,
    coalesce(${sumOf("counted_input")} filter (where ${IS_REPORTING}), 0) as of_input,
    coalesce(${sumOf("counted_output")} filter (where ${IS_REPORTING}), 0) as of_output,
    coalesce(${sumOf("reported_input")} filter (where ${IS_REPORTING}), 0) as reported_input,
    coalesce(${sumOf("reported_output")} filter (where ${IS_REPORTING}), 0) as reported_output,
    ${sumOf("input_tokens")} as charged_input, ${sumOf("output_tokens")} as charged_output
  from usage_records
  where request_id >= 'req_' || ${paddedHex(`?1 - ${DAY_MS}`, 12)} and started_at_ms >= ?1
    and started_at_ms < ?2 and usage_source is not null and upstream is not null
  group by 1, 2 order by 1, 2`;

/**
 * Compares, for each upstream and day of UTC, what the gateway counted with what was reported and, if given, with what the provider
 * billed. Records are read as long as they are kept.
 */
export async function reconcile(
  database: Database,
  { sinceMs, untilMs }: UsageRange,
  billed: readonly BilledDay[] = [],
): Promise<ReconciledDay[]> {
  const rows = (await database.all(DAYS, [sinceMs, untilMs])).map((one) => row.parse(one));
  const days = rows.map((one): ReconciledDay => {
    const day = new Date(one.at_ms).toISOString().slice(0, 10);
    return {
      day,
      upstream: one.upstream,
      requests: one.requests,
      reporting: one.reporting,
      counted: { input: one.counted_input, output: one.counted_output },
      countedOfReporting: { input: one.of_input, output: one.of_output },
      reported: { input: one.reported_input, output: one.reported_output },
      charged: { input: one.charged_input, output: one.charged_output },
      billed: billedOf(billed, day, one.upstream),
    };
  });
  const first = new Date(sinceMs).toISOString().slice(0, 10);
  const last = new Date(untilMs - 1).toISOString().slice(0, 10);
  // what was billed for a day on which nothing is known is worth a line of its own
  const others = billed.filter(({ day, upstream }) =>
    day >= first && day <= last &&
    !days.some((one) => one.day === day && (upstream ?? one.upstream) === one.upstream)
  );
  const NONE: TokenSums = { input: 0, output: 0 };
  return [
    ...days,
    ...others.map(({ day, upstream = "", input, output }): ReconciledDay => ({
      day,
      upstream,
      requests: 0,
      reporting: 0,
      counted: NONE,
      countedOfReporting: NONE,
      reported: NONE,
      charged: NONE,
      billed: { input, output },
    })),
  ].toSorted((a, b) => a.day < b.day ? -1 : a.day > b.day ? 1 : a.upstream < b.upstream ? -1 : 1);
}

/** The sum of what a list has of a day: providers list models, keys and hours by themselves. */
function billedOf(
  billed: readonly BilledDay[],
  day: string,
  upstream: string,
): TokenSums | undefined {
  const own = billed.filter((one) =>
    one.day === day && (one.upstream === undefined || one.upstream === upstream)
  );
  if (own.length === 0) return undefined;
  return {
    input: own.reduce((sum, one) => sum + one.input, 0),
    output: own.reduce((sum, one) => sum + one.output, 0),
  };
}

/** Names of columns by what they hold, as providers call them. */
const COLUMNS = {
  day: ["day", "date", "usage_date", "usage_date_utc", "start_time", "timestamp"],
  upstream: ["upstream", "provider"],
  input: ["input_tokens", "prompt_tokens", "n_context_tokens_total", "input", "usage_input_tokens"],
  cached: ["cache_read_tokens", "usage_input_tokens_cache_read"],
  written: ["cache_write_tokens", "usage_input_tokens_cache_write_5m"],
  output: [
    "output_tokens",
    "completion_tokens",
    "n_generated_tokens_total",
    "output",
    "usage_output_tokens",
  ],
} as const;

const MAX_BILLED_ROWS = 1_000_000;

/**
 * Reads a provider's list as CSV: a line with names of columns, then a line for each day, or more of them that add up. Columns
 * are a day, input tokens and output tokens, by the names that providers use, and optionally an upstream's name.
 *
 * @throws {ReportError} Naming the line and the column at fault.
 */
export function readBilled(text: string): BilledDay[] {
  const [head, ...lines] = rowsOf(text);
  if (head === undefined) throw new ReportError("The list of billed tokens is empty.");
  const names = head.map((name) => name.trim().toLowerCase().replaceAll(/[\s-]+/g, "_"));
  const find = (column: keyof typeof COLUMNS) => {
    const wanted: readonly string[] = COLUMNS[column];
    return names.findIndex((name) => wanted.includes(name));
  };
  const at = Object.fromEntries(
    (Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]).map((column) => [column, find(column)]),
  ) as Record<keyof typeof COLUMNS, number>;
  for (const column of ["day", "input", "output"] as const) {
    if (at[column] >= 0) continue;
    throw new ReportError(
      `The list of billed tokens has no column '${COLUMNS[column][0]}': ` +
        `it may be called ${COLUMNS[column].join(", ")}. Its columns are ${
          head.join(", ").slice(0, 300)
        }.`,
    );
  }
  if (lines.length > MAX_BILLED_ROWS) {
    throw new ReportError(`The list of billed tokens has more than ${MAX_BILLED_ROWS} lines.`);
  }
  return lines.map((cells, index) => {
    const tokens = (column: "input" | "cached" | "written" | "output") => {
      if (at[column] < 0) return 0;
      const cell = (cells[at[column]] ?? "").trim();
      if (cell === "") return 0;
      const value = Number(TOKENS.exec(cell)?.[1]?.replaceAll(/[^0-9]/g, "") ?? NaN);
      if (Number.isSafeInteger(value)) return value;
      throw new ReportError(
        `Line ${index + 2}: '${cells[at[column]]?.slice(0, 50)}' is not a number of tokens (${
          head[at[column]]
        }).`,
      );
    };
    return {
      day: dayOf(cells[at.day] ?? "", index + 2),
      upstream: at.upstream < 0 ? undefined : cells[at.upstream]?.trim() || undefined,
      input: tokens("input") + tokens("cached") + tokens("written"),
      output: tokens("output"),
    };
  });
}

function rowsOf(text: string): string[][] {
  try {
    return parseCsv(text.replace(/^\uFEFF/, "")).filter((cells) =>
      cells.some((cell) => cell !== "")
    );
  } catch (error) {
    throw new ReportError(`The list of billed tokens is not CSV: ${(error as Error).message}`);
  }
}

/** A date, or one with a time, of UTC unless it has another zone. */
const DAY =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(Z|UTC|GMT|[+-]\d{2}:?\d{2})?)?$/i;
/** Digits, in groups of three or not; some programs write a point and zeros behind them. */
const TOKENS = /^([0-9]+|[0-9]{1,3}(?:[,_'\s][0-9]{3})+)(?:\.0+)?$/;

/** A day of UTC; providers write dates, times, or seconds since the epoch. */
function dayOf(cell: string, line: number): string {
  const trimmed = cell.trim();
  const [, date = "", time, zone = "Z"] = DAY.exec(trimmed) ?? [];
  const offset = /^[a-z]/i.test(zone) ? "Z" : zone.replace(/^(...)(\d\d)$/, "$1:$2");
  const ms = /^[0-9]{9,11}$/.test(trimmed)
    ? Number(trimmed) * 1_000
    : time === undefined
    ? dateIn(date)
    : instantIn(`${date}T${time}${offset}`);
  if (ms !== undefined) return new Date(ms).toISOString().slice(0, 10);
  throw new ReportError(
    `Line ${line}: '${trimmed.slice(0, 50)}' is not a day: write it as 2026-11-25.`,
  );
}
