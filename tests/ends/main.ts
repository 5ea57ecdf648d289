/**
 * Ends requests in every way that callers and upstreams have, and compares each charge with two bounds that are computed beside
 * the gateway: the price of what was delivered, and of all that was generated or could be held.
 *
 * `deno run -A --lock=tests/deno.lock tests/ends/main.ts --runs 100000 --seed N`. Exit code 1 if a charge is not within its
 * bounds; each such run is printed. `--only NUMBER` repeats one run of a seed, `--show N` prints that many of each fault.
 */

import { parseArgs } from "node:util";
import { say } from "../fake/command.ts";
import { campaign } from "./campaign.ts";
import { describe, Report } from "./report.ts";

/** Runs of one campaign: gateways and databases are started again after it. */
const CAMPAIGN_RUNS = 10_000;

const { values } = parseArgs({
  args: Deno.args,
  options: {
    runs: { type: "string", default: "20000" },
    seed: { type: "string", default: String(1 + Math.floor(Math.random() * 2 ** 31)) },
    only: { type: "string" },
    show: { type: "string", default: "5" },
  },
});

const [runs, seed, show] = [Number(values.runs), Number(values.seed), Number(values.show)];
if (!(runs > 0 && seed > 0 && show >= 0)) {
  say("--runs, --seed and --show are numbers above 0");
  Deno.exit(2);
}

const total = new Report();
const startTick = performance.now();
const first = values.only === undefined ? 0 : Number(values.only);
const last = values.only === undefined ? runs : first + 1;
say(`ends: ${last - first} runs, seed ${seed}`);
for (let from = first; from < last; from += CAMPAIGN_RUNS) {
  const length = Math.min(CAMPAIGN_RUNS, last - from);
  const report = await campaign({ seed, numbers: Array.from({ length }, (_, at) => from + at) });
  total.add(report);
  for (const { run, fault } of report.violations) say(`run ${run.plan.number}: ${fault}`);
  const perSecond = total.runs / ((performance.now() - startTick) / 1_000);
  say(
    `${total.runs} runs, ${total.violations.length} violations, ${perSecond.toFixed(0)} a second`,
  );
}

for (const [kind, { runs, free, violations }] of [...total.tallies].sort()) {
  say(
    `${kind.padEnd(52)} ${String(runs).padStart(7)} runs ${String(free).padStart(7)} free ${
      String(violations).padStart(5)
    } violations`,
  );
}
say(`${total.unknown} records of requests whose callers left before they knew the id`);
const shown = new Map<string, number>();
for (const violation of total.violations) {
  const { fault, verdict: { rule } } = violation;
  const kind = `${fault} (${rule})`;
  const count = (shown.get(kind) ?? 0) + 1;
  shown.set(kind, count);
  if (count <= show) say(`\n${describe(violation)}`);
}
for (const [kind, count] of shown) say(`${String(count).padStart(6)} ${kind}`);
say(`\nseed ${seed}`);
say(total.violations.length === 0 ? "ends: passed" : "ends: failed");
Deno.exit(total.violations.length === 0 ? 0 : 1);
