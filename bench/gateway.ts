/**
 * What does the gateway add?
 *
 * In one run, on loopback: the bare upstream, an nginx reverse proxy, a bare Deno proxy, the thin proxy (the least that
 * a gateway does), Portkey's gateway, and Sluice with everything on. Each round measures all of them, in an order that
 * is reversed each round, so that a drift of the machine hits all alike. Printed: requests per second and their ratio
 * to the thin proxy's, latencies, and the processor time that a request takes of the gateway, thread by thread.
 *
 * Needs `wrk`. `deno task bench [SECONDS] [ROUNDS] [options]`; `--help` lists them.
 */

import { parseArgs } from "node:util";
import { baseUrl, GATEWAYS, NotInstalled, startNginxUpstream, startUpstream } from "./gateways.ts";
import {
  chatRequest,
  failures,
  interleave,
  type Load,
  type Measured,
  median,
  medianRatio,
  processorTime,
  type Request,
  runWrk,
  say,
  type Server,
} from "./harness.ts";

const HELP = `deno task bench [SECONDS] [ROUNDS]
  --seconds 1         of load per measurement, after one that is not counted
  --rounds 3
  --connections 32    several with commas: 1,32,256
  --bodies 1k         sizes of the request body: 1k,100k,4m
  --stream both       yes, no or both
  --only upstream,${Object.keys(GATEWAYS).join(",")}
  --unmetered         Sluice with its metering bypassed, too
  --logged            Sluice with its log, a line a request, too
  --beside DIR        Sluice of another checkout, too: what a change costs or gains
  --data DIR          Sluice on that data directory, too, such as one that bench/ledger.ts has grown
  --upstream deno     or nginx, for short bodies without streams: costs the least
`;

const { values, positionals } = parseArgs({
  args: Deno.args,
  allowPositionals: true,
  options: {
    seconds: { type: "string" },
    rounds: { type: "string" },
    connections: { type: "string", default: "32" },
    bodies: { type: "string", default: "1k" },
    stream: { type: "string", default: "both" },
    only: { type: "string", default: ["upstream", ...Object.keys(GATEWAYS)].join(",") },
    unmetered: { type: "boolean", default: false },
    logged: { type: "boolean", default: false },
    beside: { type: "string" },
    data: { type: "string" },
    upstream: { type: "string", default: "deno" },
    help: { type: "boolean", default: false },
  },
});
const seconds = Number(values.seconds ?? positionals[0] ?? 1);
const rounds = Number(values.rounds ?? positionals[1] ?? 3);

interface Variant {
  readonly name: string;
  readonly server: Server;
}

/** What a round gave. */
interface Round extends Measured {
  /** Microseconds of processor time per request, by thread. */
  readonly threads: ReadonlyMap<string, number>;
}

function bytesOf(size: string): number {
  const [, number, unit] = /^(\d+)([km]?)$/.exec(size) ?? [];
  if (number === undefined) throw new Error(`--bodies ${size}: such as 1k, 100k or 4m`);
  return Number(number) * (unit === "m" ? 1e6 : unit === "k" ? 1e3 : 1);
}

async function start(upstream: Server, ending: AsyncDisposableStack): Promise<Variant[]> {
  const behind = baseUrl(upstream);
  const { sluice } = GATEWAYS;
  const starts = values.only.split(",").map((name) =>
    [name, name === "upstream" ? () => Promise.resolve(upstream) : GATEWAYS[name]] as const
  );
  if (values.unmetered) starts.push(["unmetered", (url) => sluice!(url, { unmetered: true })]);
  if (values.logged) {
    starts.push(["logged", (url) => sluice!(url, { settings: { logLevel: "info" } })]);
  }
  if (values.beside) starts.push(["beside", (url) => sluice!(url, { root: values.beside })]);
  if (values.data) starts.push(["grown", (url) => sluice!(url, { data: values.data })]);
  const variants: Variant[] = [];
  for (const [name, startGateway] of starts) {
    if (startGateway === undefined) throw new Error(`--only ${name}: see --help`);
    try {
      const server = await startGateway(behind);
      if (name !== "upstream") ending.use(server);
      variants.push({ name, server });
    } catch (error) {
      if (!(error instanceof NotInstalled)) throw error;
      say(`${name} is left out: ${error.message}`);
    }
  }
  return variants;
}

async function measureRound(
  { server }: Variant,
  request: Request,
  load: Load,
): Promise<Round> {
  await runWrk(request, { ...load, seconds: 1 });
  const before = await processorTime(server.pid);
  const measured = await runWrk(request, load);
  const after = await processorTime(server.pid);
  const requests = measured.rate * load.seconds;
  const threads = new Map(
    [...after].map(([name, micros]) => [name, (micros - (before.get(name) ?? 0)) / requests]),
  );
  return { ...measured, threads };
}

function report(results: ReadonlyMap<Variant, readonly Round[]>): void {
  const rates = (all: readonly Round[]) => all.map(({ rate }) => rate);
  const thin = [...results].find(([{ name }]) => name === "thin") ?? [...results][0]!;
  for (const [{ name }, all] of results) {
    const middle = (take: (round: Round) => number) => median(all.map(take));
    say(
      `  ${name.padEnd(10)} ${middle(({ rate }) => rate).toFixed(0).padStart(7)}/s  ` +
        `${medianRatio(rates(all), rates(thin[1])).toFixed(2)} of ${thin[0].name}  ` +
        `p50 ${middle(({ p50 }) => p50).toFixed(2)} ms  p99 ${
          middle(({ p99 }) => p99).toFixed(2)
        } ms  ` +
        `rounds ${rates(all).map((rate) => rate.toFixed(0)).join(" ")}${failures(all)}`,
    );
    const total = middle(({ threads }) => [...threads.values()].reduce((sum, one) => sum + one, 0));
    const threads = [...new Set(all.flatMap(({ threads }) => [...threads.keys()]))]
      .map((thread) => ({ thread, micros: middle((round) => round.threads.get(thread) ?? 0) }))
      .filter(({ micros }) => micros >= 0.01 * total)
      .map(({ thread, micros }) => `${thread} ${micros.toFixed(0)}`);
    say(`  ${" ".repeat(10)} ${total.toFixed(0).padStart(7)} µs: ${threads.join(", ")}`);
  }
}

async function compare(stream: boolean): Promise<void> {
  if (!["deno", "nginx"].includes(values.upstream)) throw new Error("--upstream: deno or nginx");
  await using upstream =
    await (values.upstream === "nginx" && !stream ? startNginxUpstream() : startUpstream());
  await using ending = new AsyncDisposableStack();
  const variants = await start(upstream, ending);
  for (const size of values.bodies.split(",")) {
    const bytes = bytesOf(size);
    for (const connections of values.connections.split(",").map(Number)) {
      const load = { seconds, connections };
      const request = ({ server }: Variant) => chatRequest(server, { bytes, stream });
      for (const variant of variants) await runWrk(request(variant), { ...load, seconds: 2 });
      const results = await interleave(
        variants,
        rounds,
        (variant) => measureRound(variant, request(variant), load),
      );
      say(
        `\n${
          stream ? "streamed (54 events)" : "not streamed"
        }, body of ${size}, ${connections} connections`,
      );
      report(results);
    }
  }
}

if (!["yes", "no", "both"].includes(values.stream)) throw new Error("--stream: yes, no or both");
if (values.help) {
  say(HELP);
} else {
  say(
    `Deno ${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${rounds} rounds of ${seconds} s`,
  );
  if (values.stream !== "yes") await compare(false);
  if (values.stream !== "no") await compare(true);
}
