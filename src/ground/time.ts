/** Lengths of time in milliseconds. */

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
/** How a time that never comes is stored. */
export const NEVER = Number.MAX_SAFE_INTEGER;

/** When the hour or day of UTC began that a time is in. */
export function startOf(ms: number, spanMs: number): number {
  return Math.floor(ms / spanMs) * spanMs;
}
