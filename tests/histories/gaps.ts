import type { Callers } from "../file_faults/callers.ts";

/**
 * Finds the longest time without a reply after each tick and before the next one, of the gateway whose callers waited longest.
 *
 * @param ticks In their order, in milliseconds.
 * @param endTick When no more requests were sent.
 * @param callers Of each gateway.
 */
export function gapsAfter(
  ticks: readonly number[],
  endTick: number,
  callers: readonly Pick<Callers, "recent">[],
): number[] {
  const replied = callers.map(({ recent }) =>
    recent.flatMap(({ kind, endTick }) => kind === "acknowledged" ? [endTick] : [])
  );
  return ticks.map((tick, at) => {
    const untilTick = ticks[at + 1] ?? endTick;
    const longest = replied.map((of) => {
      const within = of.filter((one) => one > tick && one < untilTick);
      const moments = [tick, ...within, untilTick];
      return Math.max(...moments.slice(1).map((one, before) => one - moments[before]!));
    });
    return Math.round(Math.max(...longest));
  });
}
