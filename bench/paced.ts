/**
 * What does the gateway add to a request's time when it is not at its limit?
 *
 * Requests arrive at a steady rate, whether earlier ones have a response or not; medians and 99th percentiles of the
 * thin proxy, of Sluice, and with `--unmetered` of Sluice with its metering bypassed, in turns.
 *
 * `deno run -A bench/paced.ts [PER_SECOND] [SECONDS] [ROUNDS] [--unmetered]`
 */

import { parseArgs } from "node:util";
import { baseUrl, startScript, startSluice, startUpstream } from "./gateways.ts";
import { chatRequest, failures, interleave, median, say, sendSteadily } from "./harness.ts";

const { values, positionals } = parseArgs({
  args: Deno.args,
  allowPositionals: true,
  options: { unmetered: { type: "boolean", default: false } },
});
const [perSecond = 500, seconds = 5, rounds = 5] = positionals.map(Number);

await using upstream = await startUpstream();
await using ending = new AsyncDisposableStack();
const behind = baseUrl(upstream);
const variants = [
  { name: "thin proxy", server: ending.use(await startScript("thin_proxy.ts", behind)) },
  { name: "sluice", server: ending.use(await startSluice(behind)) },
];
if (values.unmetered) {
  const server = ending.use(await startSluice(behind, { unmetered: true }));
  variants.push({ name: "unmetered", server });
}
const send = ({ server }: typeof variants[number], forSeconds = seconds) =>
  sendSteadily(chatRequest(server), { perSecond, seconds: forSeconds });
for (const variant of variants) await send(variant, 3); // warm up
const results = await interleave(variants, rounds, (variant) => send(variant));
say(`Deno ${Deno.version.deno}, ${perSecond} requests a second, ${rounds} rounds of ${seconds} s`);
for (const [{ name }, all] of results) {
  say(
    `  ${name.padEnd(12)} p50 ${median(all.map(({ p50 }) => p50)).toFixed(2)} ms  p99 ${
      median(all.map(({ p99 }) => p99)).toFixed(2)
    } ms  (rounds ${all.map(({ p99 }) => p99.toFixed(1)).join(" ")})${failures(all)}`,
  );
}
