import { AccountError } from "../../people/accounts/mod.ts";
import {
  type BudgetPeriod,
  instantAt,
  isTimeZone,
  localTime,
  periodAt,
} from "../../money/ledger/mod.ts";
import {
  BUDGET_LIST,
  BUDGET_RAISE,
  BUDGET_REMOVE,
  BUDGET_SET,
  isoOf,
  type Json,
  type ReplyOf,
} from "../../operating/operations/mod.ts";
import { isDuration } from "../../ground/amounts/mod.ts";
import { BUDGET_CREDITS, MARK } from "../../settings/config/mod.ts";
import { UsageError } from "./context.ts";
import { option } from "./define_command.ts";
import type { OperationRun } from "./operation_command.ts";
import { parseCount, parseDuration, parseList } from "./format.ts";

const MAX_MARKS = 10;

const PERIODS: Readonly<Record<string, BudgetPeriod>> = {
  daily: "day",
  weekly: "week",
  monthly: "month",
  never: "life",
};

const TERMS = [
  option("--zone <name>", "time zone of days, weeks and months, e.g. Europe/Berlin (default: UTC)"),
  option("--marks <percentages>", "when to warn, e.g. 50,80,100 (default)"),
];

/** Options for a budget of something new. */
export const NEW_BUDGET = [
  option("--reset <period>", "when the budget renews: daily, weekly, monthly or never", "never"),
  ...TERMS,
];

/** Options for the budgets of something that exists. */
export const CHANGED_BUDGET = [
  option("--budget <credits>", "credits per period; 'none' removes the budget"),
  option(
    "--reset <period>",
    "which budget: daily, weekly, monthly or never (default: the only one)",
  ),
  ...TERMS,
  option("--raise <credits>", "extra credits per period for a while; 0 ends it"),
  option(
    "--until <end>",
    "when the raise ends: after a duration, e.g. 12h, 7d; at 'midnight'; when a date begins, e.g. 2030-01-05",
  ),
];

/** The budget of a new key, as its operation takes it. */
export function newBudget(
  { budget, reset = "never", zone, marks }: OperationRun["options"],
): Json[] {
  if (budget === undefined) {
    if (reset !== "never" || zone !== undefined || marks !== undefined) {
      throw new UsageError("--reset, --zone and --marks need --budget");
    }
    return [];
  }
  return [{
    period: parsePeriod(reset),
    credits: parseCount("--budget", budget, BUDGET_CREDITS),
    ...(zone === undefined ? {} : { time_zone: parseZone(zone) }),
    ...(marks === undefined ? {} : { marks: checkedMarks(marks) }),
  }];
}

/** A budget as the API shows it. */
type ShownBudget = ReplyOf<typeof BUDGET_LIST>["data"][number];

/**
 * Reads how the options set, change, raise or remove a budget of an owner, before anything is changed.
 *
 * @returns Carries it out, and resolves with all budgets of the owner.
 * @throws {UsageError | AccountError} If the options cannot be carried out.
 */
export async function budgetChange(
  { parts, perform, options }: OperationRun,
  owner: Pick<ShownBudget, "owner" | "owner_id">,
): Promise<() => Promise<readonly ShownBudget[]>> {
  const { budget, reset, raise, until } = options;
  const budgets = async () => (await perform(BUDGET_LIST, owner)).data;
  const known = await budgets();
  if (!Object.keys(options).some((name) => NAMES.includes(name))) return budgets;
  if ((raise === undefined) !== (until === undefined) && raise !== "0") {
    throw new UsageError("--raise and --until belong together");
  }
  const zone = parseZone(options.zone);
  const marks = options.marks === undefined ? undefined : checkedMarks(options.marks);
  if (budget === "none") {
    if ((zone ?? marks ?? raise) !== undefined) {
      throw new UsageError("--budget none goes with --reset only");
    }
    const period = reset === undefined ? undefined : parsePeriod(reset);
    return async () => {
      for (const { id, ...one } of known) {
        if (period === undefined || one.period === period) {
          await perform(BUDGET_REMOVE, { budget: id });
        }
      }
      return await budgets();
    };
  }
  const period = periodOf(reset, known, budget !== undefined);
  const before = known.find((one) => one.period === period);
  const credits = budget === undefined
    ? before?.credits
    : parseCount("--budget", budget, BUDGET_CREDITS);
  if (credits === undefined) {
    throw new AccountError(`No such budget yet: set one with --budget${list(known)}`);
  }
  const untilMs = until === undefined ? undefined : parseUntil(until, {
    zone: zone ?? before?.time_zone ?? "UTC",
    nowMs: parts.clock.now(),
  });
  const raised = raise === undefined ? undefined : parseCount("--raise", raise, BUDGET_CREDITS);
  return async () => {
    let id = before?.id;
    if (budget !== undefined || zone !== undefined || marks !== undefined) {
      const input = { ...owner, period, credits, time_zone: zone, marks };
      ({ id } = await perform(BUDGET_SET, input));
    }
    if (raised !== undefined) {
      const end = untilMs === undefined ? {} : { until: isoOf(untilMs) };
      await perform(BUDGET_RAISE, { budget: id, credits: raised, ...end });
    }
    return await budgets();
  };
}

/** Budgets for people; null if there are none. */
export function budgetsText(budgets: readonly ShownBudget[]): string | null {
  return budgets.map(budgetText).join("; ") || null;
}

const NAMES = ["budget", "reset", "zone", "marks", "raise", "until"];

function list(known: readonly Pick<ShownBudget, "period">[]): string {
  return known.length === 0
    ? ""
    : `. Budgets: ${known.map(({ period }) => wordOf(period)).join(", ")}`;
}

function wordOf(period: BudgetPeriod): string {
  return Object.keys(PERIODS).find((word) => PERIODS[word] === period)!;
}

function periodOf(
  reset: string | undefined,
  known: readonly Pick<ShownBudget, "period">[],
  isSet: boolean,
): BudgetPeriod {
  if (reset !== undefined) return parsePeriod(reset);
  if (known.length === 1) return known[0]!.period;
  if (isSet && known.length === 0) return "life";
  throw new UsageError(`say which budget with --reset${list(known)}`);
}

function parsePeriod(text: string): BudgetPeriod {
  const period = PERIODS[text];
  if (period !== undefined) return period;
  throw new UsageError(`invalid --reset '${text}': use daily, weekly, monthly or never`);
}

function parseZone(text: string | undefined): string | undefined {
  if (text === undefined || isTimeZone(text)) return text;
  throw new UsageError(
    `unknown time zone '${text}': use a name such as UTC, Europe/Berlin or America/New_York`,
  );
}

/** The end of a raise. Midnights are those of the budget's time zone, in which its days begin. */
function parseUntil(
  text: string,
  { zone, nowMs }: { readonly zone: string; readonly nowMs: number },
): number {
  if (text === "midnight") return periodAt("day", zone, nowMs).endsAtMs;
  if (isDuration(text)) return nowMs + parseDuration("--until", text);
  const atMs = instantAt(zone, `${text}T00:00`);
  if (atMs !== undefined && atMs > nowMs) return atMs;
  throw new UsageError(
    `invalid --until '${text}': use a duration (12h, 7d), 'midnight', or a date in the future (2030-01-05), ` +
      "at whose beginning the raise ends",
  );
}

function checkedMarks(text: string): number[] {
  const marks = parseList("--marks", text).map((mark) => parseCount("each of --marks", mark, MARK));
  if (marks.length <= MAX_MARKS) return marks;
  throw new UsageError(`too many marks: the limit is ${MAX_MARKS}`);
}

/** Describes a budget for people: `120 of 500 a month, renews 2026-12-01 00:00 UTC`. */
function budgetText(
  { credits, raise, spent, period, renews_at, time_zone: zone }: ShownBudget,
): string {
  const all = credits + (raise?.credits ?? 0);
  const extra = raise === null
    ? ""
    : ` (${raise.credits} extra until ${localTime(Date.parse(raise.until), zone)})`;
  const used = `${spent.toLocaleString("en-US")} of ${all.toLocaleString("en-US")}`;
  if (renews_at === null) return `${used} in all${extra}`;
  return `${used} a ${period}${extra}, renews ${localTime(Date.parse(renews_at), zone)}`;
}
