import type { Account, ExpiringKey } from "../accounts/mod.ts";
import type { ExpiringLot, LowBalance } from "../ledger/mod.ts";
import type { NewAlert } from "./alert.ts";
import type { Condition } from "./conditions.ts";

/** Percentages of a budget at which there is an alert. */
export const BUDGET_MARKS: readonly number[] = [50, 80, 100];

/** Times before the end of a lot or key at which there is an alert, longest first. */
const EXPIRY_MARKS = [
  { name: "7d", ms: 7 * 86_400_000, words: "within 7 days" },
  { name: "1d", ms: 86_400_000, words: "within a day" },
] as const;
/** The longest of them. */
export const EXPIRY_MS = EXPIRY_MARKS[0].ms;

const number = (value: number) => value.toLocaleString("en-US");
const iso = (ms: number) => new Date(ms).toISOString();
const minute = (ms: number) => `${iso(ms).slice(0, 16).replace("T", " ")} UTC`;
const credits = (value: number) => `${number(value)} ${value === 1 ? "credit" : "credits"}`;

/** The alert of low credits: once for each newest lot. */
export function lowCreditsMark(
  { accountId, balance, lotId, granted }: LowBalance,
  { email }: Pick<Account, "email">,
): NewAlert {
  return {
    mark: `low_credits:${accountId}:${lotId}`,
    kind: "low_credits",
    accountId,
    title: `Low credits: ${email}`,
    text: `${email} has ${credits(balance)} left. The newest grant was ${credits(granted)}.`,
    data: { email, balance, newest_grant: granted },
  };
}

/**
 * The mark that a time before an expiry has reached: the nearest one that is not longer than the whole lifetime, as a key
 * that is valid for an hour is not about to expire from the beginning.
 */
function expiryMark(
  { createdAtMs, expiresAtMs }: { readonly createdAtMs: number; readonly expiresAtMs: number },
  nowMs: number,
) {
  const leftMs = expiresAtMs - nowMs;
  if (leftMs <= 0) return undefined;
  return EXPIRY_MARKS.findLast(({ ms }) => leftMs <= ms && expiresAtMs - createdAtMs > ms);
}

/** The alert of a lot that is about to expire; undefined if it has reached no mark. */
export function lotExpiringMark(
  lot: ExpiringLot,
  { email }: Pick<Account, "email">,
  nowMs: number,
): NewAlert | undefined {
  const mark = expiryMark(lot, nowMs);
  return mark && {
    mark: `lot_expiring:${lot.id}:${mark.name}`,
    kind: "lot_expiring",
    accountId: lot.accountId,
    title: `Credits expire ${mark.words}: ${email}`,
    text: `${credits(lot.remaining)} of ${email} expire on ${minute(lot.expiresAtMs)}.`,
    data: { email, lot: lot.id, remaining: lot.remaining, expires_at: iso(lot.expiresAtMs) },
  };
}

/** The alert of a key that is about to expire; undefined if it has reached no mark. */
export function keyExpiringMark(
  key: ExpiringKey,
  { email }: Pick<Account, "email">,
  nowMs: number,
): NewAlert | undefined {
  const mark = expiryMark(key, nowMs);
  const name = key.name || key.hint;
  return mark && {
    mark: `key_expiring:${key.id}:${key.expiresAtMs}:${mark.name}`,
    kind: "key_expiring",
    accountId: key.accountId,
    title: `Key expires ${mark.words}: ${name}`,
    text: `The key ${name} of ${email} expires on ${minute(key.expiresAtMs)}.`,
    data: { email, key: key.id, name: key.name, expires_at: iso(key.expiresAtMs) },
  };
}

/** A budget, and how much of it is spent in a period. */
export interface MarkedBudget {
  readonly id: string;
  /** For people, such as `the key laptop of ada@example.com`. */
  readonly owner: string;
  /** The account that sees the alert. */
  readonly accountId: string | null;
  readonly credits: number;
  readonly spent: number;
}

/**
 * The alert of a budget that is spent to a percentage.
 *
 * @param budget The budget.
 * @param period What tells its periods apart: `life`, or the time at which the period began.
 * @param percent The mark.
 */
export function budgetMark(budget: MarkedBudget, period: string, percent: number): NewAlert {
  const { id, owner, accountId, spent } = budget;
  return {
    mark: `budget_mark:${id}:${period}:${percent}`,
    kind: "budget_mark",
    accountId,
    title: `Budget ${percent} % spent: ${owner}`,
    text: `${credits(spent)} of the budget of ${credits(budget.credits)} of ${owner} are spent.`,
    data: { budget: id, period, percent, credits: budget.credits, spent },
  };
}

/** The highest mark that is reached; undefined if none is. */
export function reachedMark(
  { credits, spent }: Pick<MarkedBudget, "credits" | "spent">,
  marks = BUDGET_MARKS,
): number | undefined {
  return marks.findLast((percent) => spent * 100 >= credits * percent);
}

/** The alert of a target that is left alone, as it fails. */
export function circuitOpenedMark({ name, detail, beganAtMs }: Condition): NewAlert {
  const target = name.replace("circuit:", "");
  return {
    mark: `circuit_opened:${target}:${beganAtMs}`,
    kind: "circuit_opened",
    accountId: null,
    title: `Circuit open: ${target}`,
    text:
      `${target} fails, so requests go to other targets where there are any. Last failure: ${detail}`,
    data: { target, since: iso(beganAtMs) },
  };
}

/** The alert of a target that works again. */
export function circuitClosedMark({ name, beganAtMs, seenAtMs }: Condition): NewAlert {
  const target = name.replace("circuit:", "");
  return {
    mark: `circuit_closed:${target}:${beganAtMs}`,
    kind: "circuit_closed",
    accountId: null,
    title: `Circuit closed: ${target}`,
    text: `${target} works again. Its circuit was open from ${minute(beganAtMs)} to ${
      minute(seenAtMs)
    }.`,
    data: { target, since: iso(beganAtMs), until: iso(seenAtMs) },
  };
}

/** The alert of a disk that is nearly full. */
export function diskLowMark({ name, detail, beganAtMs }: Condition): NewAlert {
  return {
    mark: `disk_low:${name}:${beganAtMs}`,
    kind: "disk_low",
    accountId: null,
    title: "Disk nearly full",
    text: `${detail}. Without space, requests are rejected with 503.`,
    data: { since: iso(beganAtMs) },
  };
}
