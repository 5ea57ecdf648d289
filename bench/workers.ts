/**
 * What do several serving threads give, and cost? One gateway with one worker and one with more, in one run, on loopback,
 * in an order that turns round: requests per second, and processor time per request by thread (Linux).
 *
 * Needs `wrk`. `deno run -A bench/workers.ts [SECONDS] [ROUNDS] [CONNECTIONS] [WORKERS]`
 */

import {
  freePort,
  listening,
  measure,
  type Measured,
  median,
  pause,
  residentMb,
  say,
  start,
  startSluice,
} from "./harness.ts";

const [seconds = "3", rounds = "3", connections = "32", workers = "2"] = Deno.args;
const CLOCK_TICKS = 100; // sysconf(_SC_CLK_TCK)

interface Round extends Measured {
  /** Processor time per request in microseconds, by thread. */
  readonly micros: ReadonlyMap<string, number>;
}

/** Processor time of each thread, in seconds. */
function threadSeconds(pid: number): Map<string, number> {
  const all = new Map<string, number>();
  for (const { name: id } of Deno.readDirSync(`/proc/${pid}/task`)) {
    const stat = Deno.readTextFileSync(`/proc/${pid}/task/${id}/stat`);
    const [, name, rest = ""] = /\((.*)\) (.*)/.exec(stat) ?? [];
    const fields = rest.split(" ");
    const ticks = Number(fields[11]) + Number(fields[12]);
    all.set(`${name} ${id}`, ticks / CLOCK_TICKS);
  }
  return all;
}

async function requestsOf(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return [...text.matchAll(/^sluice_requests_total\{.*\} (\d+)$/gm)]
    .reduce((sum, [, count]) => sum + Number(count), 0);
}

const upstreamPort = freePort();
const upstream = start("upstream.ts", String(upstreamPort));
try {
  await listening(upstreamPort);
  const url = `http://127.0.0.1:${upstreamPort}/v1`;
  await using one = await startSluice(url);
  await using several = await startSluice(url, {
    settings: { workers: Number(workers), log: "json", logLevel: "error" },
  });
  await pause(1_000);
  const variants = [{ name: "1 worker", ...one }, { name: `${workers} workers`, ...several }];
  for (const { name, pid } of variants) {
    say(`${name}: ${(await residentMb(pid)).toFixed(0)} MB idle`);
  }
  const body = JSON.stringify({
    model: "svc-k2",
    messages: [{ role: "user", content: "hello there, how are you today?" }],
    max_tokens: 50,
  });
  const take = async ({ port, headers, pid }: typeof variants[number]): Promise<Round> => {
    const [before, secondsBefore] = [await requestsOf(port), threadSeconds(pid)];
    const measured = await measure({ port, headers, path: "/v1/chat/completions", body }, {
      seconds,
      connections: Number(connections),
    });
    const count = await requestsOf(port) - before;
    const micros = [...threadSeconds(pid)].map(([name, spent]): [string, number] => [
      name,
      (spent - (secondsBefore.get(name) ?? 0)) / count * 1e6,
    ]);
    return { ...measured, micros: new Map(micros) };
  };
  for (const variant of variants) await take(variant); // warm up
  const results = variants.map((): Round[] => []);
  for (let round = 0; round < Number(rounds); round++) {
    const order = round % 2 === 0 ? [0, 1] : [1, 0];
    for (const at of order) results[at]!.push(await take(variants[at]!));
  }
  const ratio = median(results[1]!.map(({ rate }, at) => rate / results[0]![at]!.rate));
  say(
    `${connections} connections: ${variants[1]!.name} serve ${ratio.toFixed(2)} of what one serves`,
  );
  for (const [at, { name, pid }] of variants.entries()) {
    const own = results[at]!;
    const total = (one: Round) => [...one.micros.values()].reduce((sum, each) => sum + each, 0);
    say(
      `  ${name}: ${median(own.map(({ rate }) => rate)).toFixed(0)}/s ` +
        `p50 ${median(own.map(({ p50 }) => p50)).toFixed(1)} ms p99 ${
          median(own.map(({ p99 }) => p99)).toFixed(1)
        } ms, ${median(own.map(total)).toFixed(0)} µs a request, ${
          (await residentMb(pid)).toFixed(0)
        } MB, ` +
        `rounds ${own.map(({ rate }) => rate.toFixed(0)).join(" ")}`,
    );
    const threads = [...own[0]!.micros.keys()].map((thread): [string, number] => [
      thread,
      median(own.map(({ micros }) => micros.get(thread) ?? 0)),
    ]);
    for (const [thread, micros] of threads.toSorted(([, a], [, b]) => b - a).slice(0, 6)) {
      say(`    ${thread}: ${micros.toFixed(0)} µs`);
    }
  }
} finally {
  upstream.kill("SIGTERM");
  await upstream.status;
}
