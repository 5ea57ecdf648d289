/**
 * What do several serving threads give, and cost? A gateway with one worker and one with more, by turns: requests per second,
 * and processor time per request by thread (Linux).
 *
 * Needs `wrk`. `deno run -A bench/workers.ts [SECONDS] [ROUNDS] [CONNECTIONS] [WORKERS]`
 */

import { baseUrl, startSluice, startUpstream } from "./gateways.ts";
import {
  chatRequest,
  interleave,
  measure,
  type Measured,
  median,
  medianRatio,
  processorTime,
  residentMb,
  say,
} from "./harness.ts";

const [seconds = 3, rounds = 3, connections = 32, workers = 2] = Deno.args.map(Number);

interface Round extends Measured {
  /** Processor time per request in microseconds, by thread. */
  readonly micros: ReadonlyMap<string, number>;
}

async function requestsOf(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return [...text.matchAll(/^sluice_requests_total\{.*\} (\d+)$/gm)]
    .reduce((sum, [, count]) => sum + Number(count), 0);
}

await using upstream = await startUpstream();
await using one = await startSluice(baseUrl(upstream));
await using several = await startSluice(baseUrl(upstream), { settings: { workers } });
const variants = [{ name: "1 worker", server: one }, {
  name: `${workers} workers`,
  server: several,
}];
for (const { name, server: { pid } } of variants) {
  say(`${name}: ${(await residentMb(pid)).toFixed(0)} MB idle`);
}

async function take({ server }: typeof variants[number]): Promise<Round> {
  const { port, pid } = server;
  const [before, timeBefore] = [await requestsOf(port), await processorTime(pid)];
  const measured = await measure(chatRequest(server), { seconds, connections });
  const count = await requestsOf(port) - before;
  const micros = [...await processorTime(pid)].map(([name, spent]): [string, number] => [
    name,
    (spent - (timeBefore.get(name) ?? 0)) / count,
  ]);
  return { ...measured, micros: new Map(micros) };
}

for (const variant of variants) await take(variant); // warm up
const results = await interleave(variants, rounds, take);
const [ofOne, ofSeveral] = variants.map((variant) => results.get(variant)!);
const ratio = medianRatio(ofSeveral!.map(({ rate }) => rate), ofOne!.map(({ rate }) => rate));
say(`${connections} connections: ${workers} workers serve ${ratio.toFixed(2)} of what one serves`);
for (const [{ name, server: { pid } }, own] of results) {
  const total = (each: Round) => [...each.micros.values()].reduce((sum, micros) => sum + micros, 0);
  const of = (value: (each: Round) => number, digits = 0) => median(own.map(value)).toFixed(digits);
  say(
    `  ${name}: ${of(({ rate }) => rate)}/s, p50 ${of(({ p50 }) => p50, 1)} ms, ` +
      `p99 ${of(({ p99 }) => p99, 1)} ms, ${of(total)} µs a request, ` +
      `${(await residentMb(pid)).toFixed(0)} MB; rounds ${
        own.map(({ rate }) => rate.toFixed(0)).join(" ")
      }`,
  );
  const threads = [...own[0]!.micros.keys()].map((thread): [string, number] => [
    thread,
    median(own.map(({ micros }) => micros.get(thread) ?? 0)),
  ]);
  for (const [thread, micros] of threads.toSorted(([, a], [, b]) => b - a).slice(0, 6)) {
    say(`    ${thread}: ${micros.toFixed(0)} µs`);
  }
}
