import { AccountError } from "../accounts/mod.ts";
import type { Database, DatabaseClock, Statement } from "../database/mod.ts";
import {
  type Budget,
  budgetId,
  type BudgetOwner,
  type BudgetPeriod,
  budgetsOf,
  budgetStatements,
  isTimeZone,
  raiseBudget,
  removeBudget,
  setBudget,
} from "../ledger/mod.ts";
import { UsageError } from "./context.ts";
import { option } from "./define_command.ts";
import { parseCount, parseDuration, parseList } from "./format.ts";

/** Options of commands that set a budget. */
export interface BudgetOptions {
  readonly budget?: string;
  readonly reset?: string;
  readonly zone?: string;
  readonly marks?: string;
  readonly raise?: string;
  readonly until?: string;
}

const PERIODS: Readonly<Record<string, BudgetPeriod>> = {
  daily: "day",
  weekly: "week",
  monthly: "month",
  never: "life",
};

/** Options for a budget of something new. */
export const NEW_BUDGET = [
  option("--reset <period>", "when the budget renews: daily, weekly, monthly or never", "never"),
  option("--zone <name>", "time zone of days, weeks and months, e.g. Europe/Berlin (default: UTC)"),
  option("--marks <percentages>", "when to warn, e.g. 50,80,100 (default)"),
];

/** Options for the budgets of something that exists. */
export const CHANGED_BUDGET = [
  option("--budget <credits>", "credits per period; 'none' removes the budget"),
  option(
    "--reset <period>",
    "which budget: daily, weekly, monthly or never (default: the only one)",
  ),
  option("--zone <name>", "time zone of days, weeks and months, e.g. Europe/Berlin (default: UTC)"),
  option("--marks <percentages>", "when to warn, e.g. 50,80,100 (default)"),
  option("--raise <credits>", "extra credits per period for a while; 0 ends it"),
  option("--until <duration>", "how long the raise lasts, e.g. 12h, 7d"),
];

/** Statements that give a new key its budget, for the transaction that makes it. */
export function newBudget(
  owner: { readonly owner: BudgetOwner; readonly ownerId: string },
  { budget, reset = "never", zone, marks }: BudgetOptions,
  nowMs: number,
): Statement[] {
  if (budget === undefined) {
    if (reset !== "never" || zone !== undefined || marks !== undefined) {
      throw new UsageError("--reset, --zone and --marks need --budget");
    }
    return [];
  }
  const terms = { ...owner, period: parsePeriod(reset), credits: parseCount(budget) };
  return checked(() =>
    budgetStatements({ ...terms, zone: parseZone(zone), marks: parseMarks(marks) }, { nowMs })
  );
}

/** Sets, changes, raises or removes a budget of an owner, as the options say. */
export async function changeBudget(
  { database, clock }: { readonly database: Database; readonly clock: DatabaseClock },
  owner: { readonly owner: BudgetOwner; readonly ownerId: string },
  options: BudgetOptions,
): Promise<readonly Budget[]> {
  const { budget, reset, raise, until } = options;
  const nowMs = clock.now();
  const known = await budgetsOf(database, owner, nowMs);
  if (!Object.keys(options).some((name) => NAMES.includes(name))) return known;
  if ((raise === undefined) !== (until === undefined) && raise !== "0") {
    throw new UsageError("--raise and --until belong together");
  }
  if (budget === "none") {
    const period = reset === undefined ? undefined : parsePeriod(reset);
    for (const one of known) {
      if (period === undefined || one.period === period) await removeBudget(database, one);
    }
    return await budgetsOf(database, owner, nowMs);
  }
  const name = { ...owner, period: periodOf(reset, known, budget !== undefined) };
  const before = known.find(({ id }) => id === budgetId(name));
  const zone = parseZone(options.zone);
  const marks = parseMarks(options.marks);
  const credits = budget === undefined ? before?.credits : parseCount(budget);
  if (credits === undefined) {
    throw new AccountError(`No such budget yet: set one with --budget${list(known)}`);
  }
  if (budget !== undefined || zone !== undefined || marks !== undefined) {
    await checkedAsync(() => setBudget(database, { ...name, credits, zone, marks }, { nowMs }));
  }
  if (raise !== undefined) {
    const untilMs = until === undefined ? 0 : nowMs + parseDuration(until);
    const extra = parseCount(raise);
    await checkedAsync(() => raiseBudget(database, name, { credits: extra, untilMs, nowMs }));
  }
  return await budgetsOf(database, owner, nowMs);
}

const NAMES = ["budget", "reset", "zone", "marks", "raise", "until"];

function list(known: readonly Budget[]): string {
  return known.length === 0
    ? ""
    : `. Budgets: ${known.map(({ period }) => WORDS[period]).join(", ")}`;
}

const WORDS: Readonly<Record<BudgetPeriod, string>> = {
  day: "daily",
  week: "weekly",
  month: "monthly",
  life: "never",
};

function periodOf(
  reset: string | undefined,
  known: readonly Budget[],
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

function parseMarks(text: string | undefined): number[] | undefined {
  return text === undefined ? undefined : parseList(text).map(parseCount);
}

/** What the ledger does not take is a wrong option. */
function checked<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(error.message) : error;
  }
}

async function checkedAsync<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(error.message) : error;
  }
}
