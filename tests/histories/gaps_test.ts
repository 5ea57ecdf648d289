import { assertEquals } from "../assert.ts";
import type { Outcome } from "../file_faults/callers.ts";
import { gapsAfter } from "./gaps.ts";

/** Callers of a gateway that got replies at these times, and a refusal in each pause. */
function callers(...ticks: readonly number[]) {
  const outcome = (kind: Outcome["kind"], endTick: number): Outcome => ({
    kind,
    endTick,
    startTick: endTick - 1,
    key: "sk-",
    isDatabase: false,
  });
  const recent = ticks.flatMap((tick) => [
    outcome("acknowledged", tick),
    outcome("refused", tick + 1),
  ]);
  return { recent };
}

Deno.test("a gap lasts from an outage, or a reply after it, to the next reply, of the gateway that waits longest", () => {
  assertEquals(gapsAfter([100, 200], 300, [callers(99, 110, 140, 199, 205, 299)]), [59, 94]);
  const other = callers(99, 101, 170, 199, 210, 230, 260, 299);
  assertEquals(gapsAfter([100, 200], 300, [callers(99, 110, 140, 199, 205, 299), other]), [69, 94]);
  assertEquals(gapsAfter([100, 200], 300, [callers(99, 299)]), [100, 99]);
});
