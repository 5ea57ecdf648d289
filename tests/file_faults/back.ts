import { sleep } from "../fake/temp.ts";
import type { Callers } from "./callers.ts";
import type { Readiness } from "./readiness.ts";

/** Service is back when this many requests were charged, with no failure among them or in this time before. */
const ENOUGH = 8;
const QUIET_MS = 300;

/**
 * Waits until requests are charged again, none fails any more and `/readyz` says so. Only requests that were sent after
 * `sinceTick` count: earlier ones may still wait for their charges.
 *
 * @returns How long after `sinceTick` the first of these charges was; `undefined` if that takes longer than `withinMs`.
 */
export async function untilBack(
  callers: Callers,
  readiness: Readiness,
  sinceTick: number,
  withinMs: number,
): Promise<number | undefined> {
  while (performance.now() - sinceTick < withinMs) {
    await sleep(20);
    const after = callers.recent.filter(({ startTick }) => startTick >= sinceTick);
    const lastFailure = after.findLast(({ kind }) => kind !== "acknowledged");
    const quietTick = lastFailure?.endTick ?? sinceTick;
    const good = after.filter(({ kind, endTick }) =>
      kind === "acknowledged" && endTick >= quietTick
    );
    const isReady = readiness.recent.at(-1)?.isReady === true;
    const isQuiet = performance.now() - quietTick >= QUIET_MS;
    if (isReady && isQuiet && good.length >= ENOUGH) return good[0]!.endTick - sinceTick;
  }
  return undefined;
}
