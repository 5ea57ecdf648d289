import { DAY_MS } from "../../ground/time.ts";

/** Days that the rate is the average of. */
const RATE_DAYS = 7;
/** Further ahead, a rate says nothing. */
const MAX_DAYS = 365;

/** What is left of a lot, and when it expires; null for never. */
interface Remaining {
  readonly id: string;
  readonly remaining: number;
  readonly expiresAtMs: number | null;
}

/** How fast an account spends, and how long its credits last at this rate. */
export interface BurnRate {
  /** Full UTC days that the rate is the average of: 7, or as many as the account has. */
  readonly days: number;
  readonly creditsPerDay: number;
  /** Days until nothing is left, at most a year; undefined if nothing is spent. */
  readonly daysLeft: number | undefined;
  /** Whether they last for more than a year. */
  readonly lastsLonger: boolean;
  /** Credits that will expire before they are spent, by lot. */
  readonly unspent: ReadonlyMap<string, number>;
}

/**
 * Computes how fast an account spends from its last seven full UTC days, and how long its lots last at this rate. What
 * expires before its turn is not counted on.
 *
 * @param spentByDay Credits by the start of the UTC day, in milliseconds; days without any may be missing.
 * @returns `undefined` for an account without a full day.
 */
export function burnRateOf(
  spentByDay: ReadonlyMap<number, number>,
  { createdAtMs, lots, nowMs }: {
    readonly createdAtMs: number;
    /** In the order in which they are spent. */
    readonly lots: readonly Remaining[];
    readonly nowMs: number;
  },
): BurnRate | undefined {
  const todayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const firstFullDayMs = Math.ceil(createdAtMs / DAY_MS) * DAY_MS;
  const days = Math.min(RATE_DAYS, (todayMs - firstFullDayMs) / DAY_MS);
  if (days < 1) return undefined;
  let spent = 0;
  for (const [atMs, credits] of spentByDay) {
    if (atMs >= todayMs - days * DAY_MS && atMs < todayMs) spent += credits;
  }
  const creditsPerDay = spent / days;
  if (creditsPerDay === 0) {
    return { days, creditsPerDay, daysLeft: undefined, lastsLonger: false, unspent: new Map() };
  }
  const unspent = new Map<string, number>();
  let daysLeft = 0;
  for (const { id, remaining, expiresAtMs } of lots) {
    const needed = remaining / creditsPerDay;
    const until = expiresAtMs === null ? Infinity : (expiresAtMs - nowMs) / DAY_MS;
    const used = Math.max(0, Math.min(needed, until - daysLeft));
    const left = Math.floor(remaining - used * creditsPerDay);
    if (left > 0) unspent.set(id, left);
    daysLeft += used;
  }
  return {
    days,
    creditsPerDay,
    daysLeft: Math.min(daysLeft, MAX_DAYS),
    lastsLonger: daysLeft > MAX_DAYS,
    unspent,
  };
}

/** The UTC month until now, and the part of the month before that is as long. */
export interface ComparedMonths {
  readonly thisSinceMs: number;
  readonly lastSinceMs: number;
  /** End of that part, the same time of the same day; the end of a month that has no such day. */
  readonly lastUntilMs: number;
}

/** Computes what to compare the UTC month until now with. */
export function comparedMonths(nowMs: number): ComparedMonths {
  const now = new Date(nowMs);
  const thisSinceMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
  const lastSinceMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1);
  return {
    thisSinceMs,
    lastSinceMs,
    lastUntilMs: Math.min(lastSinceMs + nowMs - thisSinceMs, thisSinceMs),
  };
}
