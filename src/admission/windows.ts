import type { Span, WindowState } from "../ledger/mod.ts";

const SPAN_MS: Readonly<Record<Span, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/** A request window as a caller sees it. */
export interface Window {
  /** Whether it counts the requests of one key, or of its account over all keys. */
  readonly of: WindowState["of"];
  readonly span: Span;
  readonly limit: number;
  readonly remaining: number;
  /** When it begins anew: the next minute, hour or day of UTC. */
  readonly resetAtMs: number;
}

/**
 * The window with the fewest requests left; of several the one that lasts longest, since its end is
 * what the caller waits for. Undefined when there are none.
 *
 * @example
 * ```ts
 * import { nearestWindow } from "./mod.ts";
 *
 * const windows = [
 *   { of: "key", span: "minute", limit: 20, used: 5 },
 *   { of: "key", span: "hour", limit: 600, used: 599 },
 * ] as const;
 * nearestWindow(windows, 0); // the hour: 1 of 600, until 3_600_000
 * ```
 */
export function nearestWindow(windows: readonly WindowState[], nowMs: number): Window | undefined {
  const seen = windows.map(({ of, span, limit, used }): Window => ({
    of,
    span,
    limit,
    remaining: Math.max(0, limit - used),
    resetAtMs: (Math.floor(nowMs / SPAN_MS[span]) + 1) * SPAN_MS[span],
  }));
  return seen.toSorted((a, b) => a.remaining - b.remaining || b.resetAtMs - a.resetAtMs)[0];
}
