import type { CoarseTimers } from "../coarse_timers.ts";
import type { Leaving } from "../relay/mod.ts";

/**
 * After how long a request's connection is watched. Watching costs as much as a tenth of a small
 * request, so those that are answered at once do without. Before Deno 2.9 the platform forgets a
 * caller who left before the watching began.
 */
const WATCH_AFTER_MS = isAtLeast(2, 9) ? 20 : 0;

/** Tells when the caller goes away before the answer has begun. */
export function watchLeaving(request: Request, timers: CoarseTimers): Leaving {
  return (left) => {
    let signal: AbortSignal | undefined;
    const watch = () => {
      signal = request.signal;
      signal.addEventListener("abort", left);
    };
    const dismiss = WATCH_AFTER_MS === 0 ? watch() : timers.after(WATCH_AFTER_MS, watch);
    return () => {
      dismiss?.();
      signal?.removeEventListener("abort", left);
    };
  };
}

function isAtLeast(major: number, minor: number): boolean {
  const [ownMajor = 0, ownMinor = 0] = Deno.version.deno.split(".").map(Number);
  return ownMajor > major || (ownMajor === major && ownMinor >= minor);
}
