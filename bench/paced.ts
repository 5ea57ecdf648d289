/**
 * What does the gateway add to a request's time when it is not at its limit?
 *
 * Requests arrive at a steady rate, whether earlier ones are answered or not; medians and 99th
 * percentiles of the thin proxy, of Sluice, and of Sluice without its writes, in turns.
 *
 * `deno run -A bench/paced.ts [PER_SECOND] [SECONDS] [ROUNDS]`
 */

import { freePort, listening, median, pause, say, start, startSluice } from "./harness.ts";

const [rate = "500", seconds = "5", rounds = "5"] = Deno.args;
const ports = { upstream: freePort(), thin: freePort() };
const upstream = `http://127.0.0.1:${ports.upstream}/v1`;
const children = [
  start("upstream.ts", String(ports.upstream)),
  start("thin_proxy.ts", String(ports.thin), upstream),
];
const body = JSON.stringify({
  model: "svc-k2",
  max_tokens: 50,
  messages: [{ role: "user", content: "hello there, how are you today?" }],
});

interface Variant {
  readonly name: string;
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Latencies in milliseconds, sorted. */
async function load({ port, headers }: Variant, forSeconds: number): Promise<number[]> {
  const times: number[] = [];
  const running: Promise<void>[] = [];
  const one = async () => {
    const began = performance.now();
    const reply = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
    await reply.arrayBuffer();
    if (reply.status !== 200) throw new Error(`status ${reply.status}`);
    times.push(performance.now() - began);
  };
  const began = performance.now();
  const all = Number(rate) * forSeconds;
  while (running.length < all) {
    const due = Math.min(all, (performance.now() - began) / 1_000 * Number(rate));
    while (running.length < due) running.push(one());
    await pause(1);
  }
  await Promise.all(running);
  return times.toSorted((a, b) => a - b);
}

try {
  await Promise.all(Object.values(ports).map(listening));
  await using sluice = await startSluice(upstream);
  await using unmetered = await startSluice(upstream, { metering: false });
  const variants: Variant[] = [
    { name: "thin proxy", port: ports.thin, headers: {} },
    { name: "sluice", port: sluice.port, headers: sluice.headers },
    { name: "unmetered", port: unmetered.port, headers: unmetered.headers },
  ];
  const results = new Map(variants.map(({ name }) => [name, [] as [number, number][]]));
  for (const variant of variants) await load(variant, 3); // warm up
  for (let round = 0; round < Number(rounds); round++) {
    for (const variant of round % 2 === 0 ? variants : variants.toReversed()) {
      const times = await load(variant, Number(seconds));
      const at = (part: number) => times[Math.floor(times.length * part)]!;
      results.get(variant.name)!.push([at(0.5), at(0.99)]);
    }
  }
  say(`Deno ${Deno.version.deno}, ${rate} requests a second, ${rounds} rounds of ${seconds} s`);
  for (const [name, all] of results) {
    say(
      `  ${name.padEnd(12)} p50 ${median(all.map(([p50]) => p50)).toFixed(2)} ms  p99 ${
        median(all.map(([, p99]) => p99)).toFixed(2)
      } ms  (rounds ${all.map(([, p99]) => p99.toFixed(1)).join(" ")})`,
    );
  }
} finally {
  for (const child of children) child.kill("SIGTERM");
  await Promise.all(children.map(({ status }) => status));
}
