/**
 * What does the gateway add?
 *
 * In one run, on loopback: the bare upstream, the thinnest possible proxy, Sluice, and Sluice
 * with metering bypassed. Each round measures all of them, in an order that turns round, so
 * that a drift of the machine hits all alike; medians and every round are printed.
 *
 * Needs `wrk`. `deno task bench [SECONDS] [ROUNDS]`
 */

import {
  freePort,
  listening,
  measure,
  type Measured,
  median,
  pause,
  say,
  start,
  startSluice,
} from "./harness.ts";

const [seconds = "5", rounds = "5"] = Deno.args;
const CONNECTIONS = 32;
const ports = { upstream: freePort(), thin: freePort() };
const upstream = `http://127.0.0.1:${ports.upstream}/v1`;
const children = [
  start("upstream.ts", String(ports.upstream)),
  start("thin_proxy.ts", String(ports.thin), upstream),
];
try {
  await Promise.all(Object.values(ports).map(listening));
  await using sluice = await startSluice(upstream);
  await using unmetered = await startSluice(upstream, { metering: false });
  await pause(500);
  const variants = [
    { name: "bare upstream", port: ports.upstream, headers: {} },
    { name: "thin proxy", port: ports.thin, headers: {} },
    { name: "sluice", port: sluice.port, headers: sluice.headers },
    { name: "sluice, unmetered", port: unmetered.port, headers: unmetered.headers },
  ];
  say(
    `Deno ${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s`,
  );
  for (const stream of [false, true]) {
    const body = JSON.stringify({
      model: "svc-k2",
      messages: [{ role: "user", content: "hello there, how are you today?" }],
      max_tokens: 50,
      ...(stream ? { stream: true } : {}),
    });
    const take = (variant: typeof variants[number]) =>
      measure({ ...variant, path: "/v1/chat/completions", body }, {
        seconds,
        connections: CONNECTIONS,
      });
    for (const variant of variants) await take(variant); // warm up
    const results = new Map(variants.map(({ name }) => [name, [] as Measured[]]));
    for (let round = 0; round < Number(rounds); round++) {
      const order = round % 2 === 0 ? variants : variants.toReversed();
      for (const variant of order) results.get(variant.name)!.push(await take(variant));
    }
    const rates = (name: string) => results.get(name)!.map(({ rate }) => rate);
    say(`\n${stream ? "streamed (54 events)" : "not streamed"}`);
    for (const { name } of variants) {
      const own = results.get(name)!;
      const ratio = median(rates(name).map((rate, at) => rate / rates("thin proxy")[at]!));
      say(
        `  ${name.padEnd(18)} ${median(rates(name)).toFixed(0).padStart(7)}/s  ` +
          `${ratio.toFixed(2)} of thin  p50 ${median(own.map(({ p50 }) => p50)).toFixed(2)} ms  ` +
          `p99 ${median(own.map(({ p99 }) => p99)).toFixed(2)} ms  ` +
          `rounds ${rates(name).map((rate) => rate.toFixed(0)).join(" ")}`,
      );
    }
  }
} finally {
  for (const child of children) child.kill("SIGTERM");
  await Promise.all(children.map(({ status }) => status));
}
