import { type Database, readTogether } from "../../ground/database/mod.ts";
import {
  balanceReading,
  type DaySum,
  entriesButChargesReading,
  type Entry,
  expireLotsOf,
  sumsButChargesReading,
} from "../ledger/mod.ts";
import { DAY_MS } from "../../ground/time.ts";
import { usageReading, type UsageSum } from "./account_usage.ts";
import { untilNow } from "./bounds.ts";
import { creditsIn } from "./figures.ts";

/** Entries of a month that are listed one by one; of more, each day has one line for each kind. */
const MAX_ENTRIES = 300;

/** What requests of a UTC day for a model were charged. */
type ModelCharges = UsageSum<"day" | "model">;

/** What moved a balance. */
export type CreditMovement =
  /** All charges of requests that began in a UTC day. */
  | {
    readonly kind: "charges";
    readonly requests: number;
    readonly models: readonly ModelCharges[];
  }
  | { readonly kind: Exclude<Entry["kind"], "charge">; readonly entry: Entry }
  /** Entries of a day that has many. */
  | { readonly kind: Exclude<Entry["kind"], "charge">; readonly entries: number };

/** A line of a statement. */
export type CreditLine = CreditMovement & {
  /** When it happened; of a line for a whole day, the day's start. */
  readonly atMs: number;
  readonly isDay: boolean;
  /** Below 0 for what left the balance. */
  readonly credits: number;
  /** After it. */
  readonly balance: number;
};

/** An account's credits in a UTC month. */
export interface CreditStatement {
  /** Such as `2026-11`. */
  readonly month: string;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly opening: number;
  /** The end of the month, or now. */
  readonly closedMs: number;
  /** The balance then. */
  readonly closing: number;
  readonly granted: number;
  /** These are 0 or more. */
  readonly charged: number;
  readonly expired: number;
  readonly takenBack: number;
  /** Oldest first. Charges of a day come after what else moved the balance in it. */
  readonly lines: readonly CreditLine[];
}

/**
 * Reads what moved an account's balance in a month. Charges count to the day in which their request began, as in reports;
 * all is read at one moment, so that the lines add up.
 *
 * @param options Account, month such as `2026-11`, and the present time.
 * @returns The statement; its closing balance is the opening balance of the next month, and that of the present month is
 *   the account's balance.
 */
export async function creditStatement(
  database: Database,
  { accountId, month, nowMs }: {
    readonly accountId: string;
    readonly month: string;
    readonly nowMs: number;
  },
): Promise<CreditStatement> {
  const [year, number] = month.split("-").map(Number) as [number, number];
  const [fromMs, untilMs] = [Date.UTC(year, number - 1), Date.UTC(year, number)];
  await expireLotsOf(database, accountId, nowMs);
  const { balance, sums, later, entries, usage, laterUsage } = await readTogether(database, {
    balance: balanceReading(accountId),
    sums: sumsButChargesReading({ accountId, sinceMs: fromMs, untilMs }),
    later: sumsButChargesReading({ accountId, sinceMs: untilMs, untilMs: Number.MAX_SAFE_INTEGER }),
    entries: entriesButChargesReading({
      accountId,
      sinceMs: fromMs,
      untilMs,
      limit: MAX_ENTRIES + 1,
    }),
    usage: usageReading({
      accountIds: [accountId],
      by: ["day", "model"],
      sinceMs: fromMs,
      untilMs,
    }),
    laterUsage: usageReading({
      accountIds: [accountId],
      by: [],
      sinceMs: untilMs,
      untilMs: untilNow(nowMs),
    }),
  });
  const closing = balance - creditsIn(later) + creditsIn(laterUsage);
  const charged = creditsIn(usage);
  const opening = closing - creditsIn(sums) + charged;
  const moved = [
    ...(entries.length > MAX_ENTRIES ? sums.map(lineOfDay) : entries.map(lineOfEntry)),
    ...linesOfCharges(usage.filter(({ credits }) => credits > 0)),
  ].toSorted((a, b) => dayOf(a) - dayOf(b) || rankOf(a) - rankOf(b) || a.atMs - b.atMs);
  let after = opening;
  const sumOf = (kind: DaySum["kind"]) => creditsIn(sums.filter((one) => one.kind === kind));
  return {
    month,
    fromMs,
    untilMs,
    opening,
    closedMs: Math.min(untilMs, Math.max(fromMs, nowMs)),
    closing,
    granted: sumOf("grant"),
    charged,
    expired: Math.abs(sumOf("expire")),
    takenBack: Math.abs(sumOf("take_back")),
    lines: moved.map((line) => ({ ...line, balance: after += line.credits })),
  };
}

type Moved = CreditMovement & Pick<CreditLine, "atMs" | "isDay" | "credits">;

function lineOfEntry(entry: Entry): Moved {
  const { kind, atMs, credits } = entry;
  return { kind: kind as DaySum["kind"], entry, atMs, isDay: false, credits };
}

function lineOfDay({ dayAtMs, kind, entries, credits }: DaySum): Moved {
  return { kind, entries, atMs: dayAtMs, isDay: true, credits };
}

function linesOfCharges(charges: readonly ModelCharges[]): Moved[] {
  return [...Map.groupBy(charges, ({ day }) => day)].map(([atMs, models]) => ({
    kind: "charges",
    requests: models.reduce((sum, { requests }) => sum + requests, 0),
    models: models.toSorted((a, b) => b.credits - a.credits),
    atMs,
    isDay: true,
    credits: -creditsIn(models),
  }));
}

function dayOf({ atMs }: Moved): number {
  return Math.floor(atMs / DAY_MS);
}

function rankOf({ kind }: Moved): number {
  return kind === "charges" ? 1 : 0;
}
