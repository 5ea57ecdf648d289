import { delay } from "../../ground/std/mod.ts";
import type { Failure } from "./failure.ts";

/** When attempts are repeated. Nothing else sends a request again (P9). */
export interface RetryPolicy {
  /** Attempts at a target in all. */
  readonly attemptsPerTarget: number;
  /** The first wait before a target is asked again; it doubles, and half of it is random. */
  readonly firstWaitMs: number;
  /** The longest `Retry-After` that is waited for here; longer ones are the caller's to wait. */
  readonly patienceMs: number;
}

export const RETRY_POLICY: RetryPolicy = {
  attemptsPerTarget: 2,
  firstWaitMs: 250,
  patienceMs: 2_000,
};

/** Whether the same target may be tried again soon. */
export function canRepeat({ kind, retryAfterMs }: Failure, policy: RetryPolicy): boolean {
  if (retryAfterMs !== undefined) {
    return kind !== "elsewhere" && retryAfterMs <= policy.patienceMs;
  }
  return kind === "again";
}

/** How long to wait before another round: as upstreams say, at least the backoff. */
export function waitBefore(
  round: number,
  failures: readonly Failure[],
  policy: RetryPolicy,
): number {
  const backoff = policy.firstWaitMs * 2 ** (round - 1) * (0.5 + Math.random() / 2);
  const told = failures.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
  return Math.max(backoff, told.length === 0 ? 0 : Math.min(...told));
}

/** Waits. Resolves with false when the client disconnects meanwhile. */
export function sleep(ms: number, signal: AbortSignal): Promise<boolean> {
  return delay(ms, { signal }).then(() => true, () => false);
}
