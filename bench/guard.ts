/**
 * Is Sluice still as fast as it was, compared with the thin proxy?
 *
 * Fails when the median ratio of requests per second, over short rounds that alternate, is below a threshold. The
 * thresholds are about half of what is usual, and what is below one is measured once more, since a machine that is busy
 * with something else slows Sluice down more than the thin proxy. Raise them when Sluice gets faster.
 *
 * Needs `wrk`. `deno task bench:guard`
 */

import { baseUrl, startScript, startSluice, startUpstream } from "./gateways.ts";
import { chatRequest, interleave, isInstalled, medianRatio, runWrk, say } from "./harness.ts";

/** Requests per second, as part of the thin proxy's, below which it fails. */
const MIN_OF_THIN = { "not streamed": 0.18, streamed: 0.28 };

const ROUNDS = 7;
const LOAD = { seconds: 1, connections: 32 };
const WARM_UP = { seconds: 3, connections: 32 };

async function ratioToThin(stream: boolean): Promise<number> {
  await using upstream = await startUpstream();
  await using thin = await startScript("thin_proxy.ts", baseUrl(upstream));
  await using sluice = await startSluice(baseUrl(upstream));
  const rate = async (request: ReturnType<typeof chatRequest>, load = LOAD) => {
    const { rate, errors } = await runWrk(request, load);
    if (errors > 0) throw new Error(`${errors} requests to port ${request.port} failed`);
    return rate;
  };
  const requests = [thin, sluice].map((server) => chatRequest(server, { stream }));
  for (const request of requests) await rate(request, WARM_UP);
  const results = await interleave(requests, ROUNDS, rate);
  const [ofThin = [], ofSluice = []] = results.values();
  return medianRatio(ofSluice, ofThin);
}

if (!await isInstalled("wrk", "--version")) {
  say("guard: not measured, since wrk is not installed");
  Deno.exit(1);
}
let failed = false;
for (const [mode, min] of Object.entries(MIN_OF_THIN)) {
  let ratio = await ratioToThin(mode === "streamed");
  if (!(ratio >= min)) {
    say(`${mode}: ${ratio.toFixed(2)} of the thin proxy, measured once more`);
    ratio = await ratioToThin(mode === "streamed");
  }
  const isTooSlow = !(ratio >= min);
  failed ||= isTooSlow;
  const verdict = isTooSlow ? "TOO SLOW" : "fast enough";
  say(`${mode}: ${ratio.toFixed(2)} of the thin proxy, at least ${min}: ${verdict}`);
}
say(failed ? "guard: failed" : "guard: passed");
Deno.exit(failed ? 1 : 0);
