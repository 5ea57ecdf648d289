import { DAY_MS, HOUR_MS } from "../../ground/time.ts";

/** Returns the start of the last `days` UTC days including today, which every view means by "30 days". All is in milliseconds since the epoch. */
export function daysSince(nowMs: number, days: number): number {
  return (Math.floor(nowMs / DAY_MS) - days + 1) * DAY_MS;
}

/** Returns the start of the last `hours` UTC hours including the current one. */
export function hoursSince(nowMs: number, hours: number): number {
  return (Math.floor(nowMs / HOUR_MS) - hours + 1) * HOUR_MS;
}

/** Returns the start of the UTC month. */
export function monthStart(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
}

/** Returns the end of a range up to now: that of tomorrow in UTC, as clocks of gateways may differ by minutes. */
export function untilNow(nowMs: number): number {
  return daysSince(nowMs, -1);
}
