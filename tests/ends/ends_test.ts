/**
 * Requests that end in every way: what each is charged lies between the price of what was delivered and of what was generated.
 *
 * `SLUICE_ENDS_RUNS=20000` for that number of runs, `SLUICE_TEST_SEED` for the same ones again; `main.ts` for more than that.
 */

import { assert, assertEquals } from "../assert.ts";
import { testSeed } from "../fake/random.ts";
import { sized } from "../tier.ts";
import { campaign } from "./campaign.ts";
import type { Rule } from "./oracle.ts";
import { describe } from "./report.ts";

const RUNS = Number(Deno.env.get("SLUICE_ENDS_RUNS") ?? sized(200, 3_000));
/** Rules that decide often enough to be missed if they did not: the rare ones among the runs of the proofs. */
const COMMON: readonly Rule[] = [
  "complete",
  "the caller left",
  "the upstream broke off",
  "a limit of the gateway's",
  ...(RUNS < 1_500 ? [] : ["cut off at its limit", "broke off, read slowly"] as const),
];
const MAX_TOLD = 5;

Deno.test("however a request ends, its charge is at least what was delivered and at most what was generated", async () => {
  const seed = testSeed();
  const report = await campaign({ seed, numbers: Array.from({ length: RUNS }, (_, at) => at) });
  // how fast a caller reads is measured by a clock: with all cores busy a slow one may look quick, once
  const numbers = report.violations.map(({ run }) => run.plan.number);
  const again = numbers.length === 0 ? report : await campaign({ seed, numbers });
  const told = again.violations.slice(0, MAX_TOLD).map(describe);
  assertEquals(told, [], `seed ${seed}: ${report.violations.length} of ${report.runs}`);
  for (const rule of COMMON) {
    assert(report.runsBy(rule) > 0, `seed ${seed}: no run is about: ${rule}`);
  }
});
