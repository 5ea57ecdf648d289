import type { Span, WindowState } from "../../money/ledger/mod.ts";

/** Lengths of rate windows, in milliseconds. */
export const SPAN_MS: Readonly<Record<Span, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/** A rate window, as reported to a caller. */
export interface Window {
  /** Whether the window counts the requests of one key, or of all keys of its account. */
  readonly of: WindowState["of"];
  readonly span: Span;
  readonly limit: number;
  readonly remaining: number;
  /** Start of the next minute, hour or day (UTC), in milliseconds since the epoch. */
  readonly resetAtMs: number;
}

/**
 * Finds the window with the fewest requests remaining. Of several, the one that ends last is returned, since the
 * caller has to wait for its end.
 *
 * @param nowMs Current time in milliseconds since the epoch.
 * @returns The nearest window, or `undefined` if `windows` is empty.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { nearestWindow } from "./mod.ts";
 *
 * const windows = [
 *   { of: "key", span: "minute", limit: 20, used: 5 },
 *   { of: "key", span: "hour", limit: 600, used: 599 },
 * ] as const;
 * assertEquals(nearestWindow(windows, 0), {
 *   of: "key",
 *   span: "hour",
 *   limit: 600,
 *   remaining: 1,
 *   resetAtMs: 3_600_000,
 * });
 * ```
 */
export function nearestWindow(windows: readonly WindowState[], nowMs: number): Window | undefined {
  let nearest: Window | undefined;
  for (const { of, span, limit, used } of windows) {
    const remaining = Math.max(0, limit - used);
    const resetAtMs = (Math.floor(nowMs / SPAN_MS[span]) + 1) * SPAN_MS[span];
    const isNearer = nearest === undefined || remaining < nearest.remaining ||
      remaining === nearest.remaining && resetAtMs > nearest.resetAtMs;
    if (isNearer) nearest = { of, span, limit, remaining, resetAtMs };
  }
  return nearest;
}
