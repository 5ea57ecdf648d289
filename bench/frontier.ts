/**
 * How many requests a second at which p99? The curve that the field is measured by, with everything on.
 *
 * For each gateway, by turns: the most requests a second of which 99 % end within 1, 5, 10, 50 and 100 ms and none fails; what it adds to one
 * request at a time; how many streams of 64 events, 20 ms apart, it carries at once without losing one, and what it adds to their first event and
 * to the gaps between events; memory when idle, under load and after it. Then Sluice's rate for each dialect in front and behind.
 *
 * `deno run -A bench/frontier.ts [--seconds 2] [--rounds 2] [--only thin,sluice] [--picture FILE]`; needs `wrk`. Ten minutes with the defaults.
 */

import { parseArgs } from "node:util";
import { baseUrl, GATEWAYS, NotInstalled, startSluice, startUpstream } from "./gateways.ts";
import { drawCurves } from "./curves.ts";
import {
  chatRequest,
  interleave,
  type Measured,
  median,
  messagesRequest,
  pause,
  type Request,
  residentMb,
  runWrk,
  say,
  type Server,
} from "./harness.ts";

const BOUNDS_MS = [1, 5, 10, 50, 100];
const CONNECTIONS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const STREAMS = [1, 32, 128, 256, 512, 1_024];
const STREAM_EVENTS = 64;
const PACE_MS = 20;
/** After the load, until memory is what it stays. */
const RECOVER_MS = 10_000;

/** What reading streams gave. */
interface Streamed {
  /** Milliseconds to the first text. */
  readonly first: number;
  /** 99th percentile of the milliseconds between texts. */
  readonly gap: number;
  /** Texts that did not come. */
  readonly lost: number;
}

interface Variant {
  readonly name: string;
  readonly server: Server;
}

const percentile = (values: readonly number[], part: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? NaN;

/** Reads streams to their end, in a process of its own; prints what they gave. */
async function readStreams(): Promise<void> {
  const { request, count } = JSON.parse(await new Response(Deno.stdin.readable).text()) as {
    request: Request;
    count: number;
  };
  const firsts: number[] = [];
  const gaps: number[] = [];
  let texts = 0;
  const read = async (index: number) => {
    await pause(index * PACE_MS / count); // not all in the same millisecond
    const began = performance.now();
    const { headers, body, path, port } = request;
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
    let last: number | undefined;
    for await (const text of reply.body!.pipeThrough(new TextDecoderStream())) {
      const found = text.split('"word').length - 1; // as the upstream writes them
      if (found === 0) continue;
      texts += found;
      const now = performance.now();
      if (last === undefined) firsts.push(now - began);
      else gaps.push(now - last);
      last = now;
    }
  };
  await Promise.allSettled(Array.from({ length: count }, (_, index) => read(index)));
  const streamed: Streamed = {
    first: percentile(firsts, 0.5),
    gap: percentile(gaps, 0.99),
    lost: count * STREAM_EVENTS - texts,
  };
  say(JSON.stringify(streamed));
}

async function stream(server: Server, count: number): Promise<Streamed> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", import.meta.filename!, "--read-streams"],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const request = chatRequest(server, { stream: true, texts: STREAM_EVENTS });
  const input = child.stdin.getWriter();
  await input.write(new TextEncoder().encode(JSON.stringify({ request, count })));
  await input.close();
  return JSON.parse(await new Response(child.stdout).text());
}

/** The most requests a second that keep a bound; 0 if none do. */
function best(points: readonly Measured[], boundMs: number): number {
  return Math.max(
    0,
    ...points.filter(({ p99, errors }) => errors === 0 && p99 <= boundMs).map(({ rate }) => rate),
  );
}

const { values } = parseArgs({
  args: Deno.args,
  options: {
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "2" },
    only: { type: "string", default: Object.keys(GATEWAYS).join(",") },
    picture: { type: "string" },
    "read-streams": { type: "boolean", default: false },
  },
});
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);

async function start(upstream: Server, ending: AsyncDisposableStack): Promise<Variant[]> {
  const variants: Variant[] = [];
  for (const name of values.only.split(",")) {
    try {
      variants.push({ name, server: ending.use(await GATEWAYS[name]!(baseUrl(upstream))) });
    } catch (error) {
      if (!(error instanceof NotInstalled)) throw error;
      say(`${name} is left out: ${error.message}`);
    }
  }
  return variants;
}

async function measureRates(): Promise<void> {
  await using upstream = await startUpstream();
  await using ending = new AsyncDisposableStack();
  const variants = await start(upstream, ending);
  await pause(RECOVER_MS / 2);
  const idle = new Map<Variant, number>();
  for (const variant of variants) idle.set(variant, await residentMb(variant.server.pid));
  const busy = new Map<Variant, number>();
  const request = ({ server }: Variant) => chatRequest(server, { bytes: 1_000 });
  const alone = { ...upstream, headers: {} };
  const bare = await runWrk(chatRequest(alone, { bytes: 1_000 }), { seconds, connections: 1 });
  for (const variant of variants) await runWrk(request(variant), { seconds: 3, connections: 32 });
  const results = await interleave(variants, rounds, async (variant) => {
    const points: Measured[] = [];
    for (const connections of CONNECTIONS) {
      points.push(await runWrk(request(variant), { seconds, connections }));
    }
    busy.set(variant, await residentMb(variant.server.pid));
    return points;
  });
  await pause(RECOVER_MS);
  say(`\nRequests a second with 99 % of them within … ms, and what one at a time takes longer`);
  say(
    `  ${"".padEnd(8)}${
      BOUNDS_MS.map((bound) => String(bound).padStart(9)).join("")
    }   added p50, p99     MB idle, busy, after`,
  );
  const curves = new Map<string, { x: number; y: number }[]>();
  for (const [variant, all] of results) {
    const { name, server } = variant;
    const bests = BOUNDS_MS.map((bound) => median(all.map((points) => best(points, bound))));
    const added = (of: "p50" | "p99") => median(all.map((points) => points[0]![of])) - bare[of];
    const memory = [idle.get(variant)!, busy.get(variant)!, await residentMb(server.pid)];
    say(
      `  ${name.padEnd(8)}${bests.map((rate) => rate.toFixed(0).padStart(9)).join("")}   ` +
        `${added("p50").toFixed(2)}, ${added("p99").toFixed(2)} ms`.padEnd(18) +
        memory.map((mb) => mb.toFixed(0).padStart(6)).join(""),
    );
    curves.set(
      name,
      CONNECTIONS.map((_, at) => ({
        x: median(all.map((points) => points[at]!.p99)),
        y: median(all.map((points) => points[at]!.rate)),
      })).filter(({ x, y }) => x > 0 && y > 0), // nothing was replied to in time
    );
  }
  if (values.picture !== undefined) {
    const title = "Requests a second by p99 in ms, 1 to 512 connections";
    await Deno.writeTextFile(values.picture, drawCurves(title, curves));
    say(`  drawn: ${values.picture}`);
  }
}

async function measureStreams(): Promise<void> {
  await using upstream = await startUpstream({ paceMs: PACE_MS });
  await using ending = new AsyncDisposableStack();
  const variants = await start(upstream, ending);
  const bare = { ...upstream, headers: {} };
  say(
    `\nStreams of ${STREAM_EVENTS} events, ${PACE_MS} ms apart: the most at once without a lost event`,
  );
  for (const { server } of variants) await stream(server, 32); // warm up
  for (const { name, server } of variants) {
    let most = 0;
    const added: string[] = [];
    for (const count of STREAMS) {
      const without = await stream(bare, count);
      const { first, gap, lost } = await stream(server, count);
      if (lost > 0) break;
      most = count;
      added.push(
        `${count}: ${(first - without.first).toFixed(1)}, ${(gap - without.gap).toFixed(1)} ms`,
      );
    }
    say(
      `  ${name.padEnd(8)} ${
        String(most).padStart(5)
      }   added to the first event and to a gap (p99): ${added.join(" · ")}`,
    );
  }
}

async function measurePairings(): Promise<void> {
  await using upstream = await startUpstream();
  say(`\nSluice by dialect in front and behind, 32 connections`);
  for (const behind of ["chat", "messages"] as const) {
    await using server = await startSluice(baseUrl(upstream), { dialect: behind });
    for (
      const [front, request] of [["chat", chatRequest(server)], [
        "messages",
        messagesRequest(server),
      ]] as const
    ) {
      await runWrk(request, { seconds: 2, connections: 32 });
      const all: Measured[] = [];
      for (let round = 0; round < rounds; round++) {
        all.push(await runWrk(request, { seconds, connections: 32 }));
      }
      say(
        `  ${front} → ${behind}`.padEnd(24) +
          `${median(all.map(({ rate }) => rate)).toFixed(0)}/s  p99 ${
            median(all.map(({ p99 }) => p99)).toFixed(1)
          } ms`,
      );
    }
  }
}

if (values["read-streams"]) await readStreams();
else {
  say(
    `Deno ${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${rounds} rounds of ${seconds} s; load and upstream on the same machine`,
  );
  await measureRates();
  await measureStreams();
  await measurePairings();
}
