/**
 * What does the gateway add?
 *
 * In one run, on loopback: the bare upstream, the thinnest possible proxy, Sluice, and Sluice
 * without its write per request. Each round measures all of them, in an order that turns round, so
 * that a drift of the machine hits all alike; medians and every round are printed.
 *
 * Needs `wrk`. `deno task bench [SECONDS] [ROUNDS]`
 */

const [seconds = "5", rounds = "5"] = Deno.args;
const CONNECTIONS = 32;
const root = new URL("../", import.meta.url).pathname;

interface Variant {
  readonly name: string;
  readonly port: number;
  readonly headers: Record<string, string>;
}

interface Measured {
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return (listener.addr as Deno.NetAddr).port;
}

function start(script: string, ...args: string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", `--config=${root}deno.json`, `${root}bench/${script}`, ...args],
  }).spawn();
}

async function listening(port: number): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  throw new Error(`nothing listens on port ${port}`);
}

/** Measures a variant, after a second that is not counted: an idle process gives up compiled code. */
async function measure(variant: Variant, stream: boolean): Promise<Measured> {
  await load(variant, stream, "1");
  return await load(variant, stream, seconds!);
}

async function load(variant: Variant, stream: boolean, duration: string): Promise<Measured> {
  const body = JSON.stringify({
    model: "svc-k2",
    messages: [{ role: "user", content: "hello there, how are you today?" }],
    max_tokens: 64,
    ...(stream ? { stream: true } : {}),
  });
  const headers = Object.entries({ "content-type": "application/json", ...variant.headers });
  const script = await Deno.makeTempFile({ suffix: ".lua" });
  await Deno.writeTextFile(
    script,
    `wrk.method = "POST"\nwrk.body = ${JSON.stringify(body).replaceAll("\\/", "/")}\n` +
      headers.map(([name, value]) => `wrk.headers["${name}"] = "${value}"\n`).join("") +
      `done = function(summary, latency)\n` +
      `  io.write(string.format("RESULT %d %d %d %d %d\\n", summary.requests, summary.duration, ` +
      `latency:percentile(50), latency:percentile(99), summary.errors.status + summary.errors.read + summary.errors.timeout))\nend\n`,
  );
  const { stdout } = await new Deno.Command("wrk", {
    args: [
      "-t1",
      `-c${CONNECTIONS}`,
      `-d${duration}`,
      "-s",
      script,
      `http://127.0.0.1:${variant.port}/v1/chat/completions`,
    ],
  }).output();
  await Deno.remove(script);
  const found = /RESULT (\d+) (\d+) (\d+) (\d+) (\d+)/.exec(new TextDecoder().decode(stdout));
  if (found === null) throw new Error("wrk printed no result");
  const [requests, micros, p50, p99, errors] = found.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
  ];
  if (errors > 0) throw new Error(`${variant.name}: ${errors} requests failed`);
  return { rate: requests / (micros / 1e6), p50: p50 / 1e3, p99: p99 / 1e3 };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

const ports = { upstream: freePort(), thin: freePort(), sluice: freePort(), unwritten: freePort() };
const upstream = `http://127.0.0.1:${ports.upstream}/v1`;
const data = [await Deno.makeTempDir(), await Deno.makeTempDir()];
const children = [
  start("upstream.ts", String(ports.upstream)),
  start("thin_proxy.ts", String(ports.thin), upstream),
  start("sluice.ts", String(ports.sluice), upstream, data[0]!, "yes"),
  start("sluice.ts", String(ports.unwritten), upstream, data[1]!, "no"),
];
try {
  await Promise.all(Object.values(ports).map(listening));
  await new Promise((resolve) => setTimeout(resolve, 500));
  const keyOf = async (directory: string) => ({
    authorization: `Bearer ${await Deno.readTextFile(`${directory}/key`)}`,
  });
  const variants: Variant[] = [
    { name: "bare upstream", port: ports.upstream, headers: {} },
    { name: "thin proxy", port: ports.thin, headers: {} },
    { name: "sluice", port: ports.sluice, headers: await keyOf(data[0]!) },
    { name: "sluice, no writes", port: ports.unwritten, headers: await keyOf(data[1]!) },
  ];
  say(
    `Deno ${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s`,
  );
  for (const stream of [false, true]) {
    for (const variant of variants) await measure(variant, stream); // warm up
    const results = new Map(variants.map(({ name }) => [name, [] as Measured[]]));
    for (let round = 0; round < Number(rounds); round++) {
      const order = round % 2 === 0 ? variants : variants.toReversed();
      for (const variant of order) results.get(variant.name)!.push(await measure(variant, stream));
    }
    const rates = (name: string) => results.get(name)!.map(({ rate }) => rate);
    say(`\n${stream ? "streamed (53 events)" : "not streamed"}`);
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
  for (const directory of data) await Deno.remove(directory, { recursive: true });
}
