/**
 * What does an open stream hold, and how long does a small request take beside thousands of them?
 *
 * Opens streams with an event every second, which a process of its own reads at once, over the thin proxy and over
 * Sluice by turns. Printed: resident memory per open stream above that of the idle gateway, and p50 and p99 of small
 * requests, 100 a second, first without and then beside the streams.
 *
 * `deno run -A bench/streams.ts [STREAMS,...] [SECONDS]`, by default `1000,5000 10`
 */

import { baseUrl, GATEWAYS, startUpstream } from "./gateways.ts";
import {
  chatRequest,
  failures,
  median,
  pause,
  type Request,
  residentMb,
  say,
  sendSteadily,
  type Server,
} from "./harness.ts";

const PACE_MS = 1_000;
/** Streams opened per second, so that their events are spread over the pace. */
const OPENED_PER_SECOND = 250;
/** Until buffers and compiled code are what they stay. */
const SETTLE_MS = 5_000;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The process that holds streams, until its standard input ends; prints a line when `count` are open. */
async function hold(count: number): Promise<void> {
  const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.endsWith("\n")) text += (await lines.read()).value ?? "\n";
  const request = JSON.parse(text) as Request;
  const head = Object.entries({ ...request.headers, "content-length": `${request.body.length}` })
    .map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const bytes = encoder.encode(
    `POST ${request.path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${head}\r\n${request.body}`,
  );
  const connections: Deno.Conn[] = [];
  const counts = { open: 0, events: 0 };
  const read = async (connection: Deno.Conn) => {
    const buffer = new Uint8Array(16_384);
    const size = await connection.read(buffer) ?? 0;
    const start = decoder.decode(buffer.subarray(0, size));
    if (!start.startsWith("HTTP/1.1 200")) throw new Error(start);
    counts.open++;
    while (await connection.read(buffer) !== null) counts.events++;
    throw new Error("a stream has ended");
  };
  for (let index = 0; index < count; index++) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: request.port });
    connections.push(connection);
    await connection.write(bytes);
    read(connection).catch((error) => {
      if (error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted) {
        return;
      }
      say(String(error));
      Deno.exit(1);
    });
    if (index % (OPENED_PER_SECOND / 50) === 0) await pause(20);
  }
  while (counts.open < count) await pause(20);
  say("open");
  while (!(await lines.read()).done);
  say(`${counts.events} events`);
  Deno.exit(0); // closes them all
}

/** Opens streams, each of `texts` events. Disposal closes them. */
export async function openStreams(
  server: Server,
  count: number,
  { texts = 2_000 }: { readonly texts?: number } = {},
): Promise<AsyncDisposable> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", import.meta.filename!, "hold", String(count)],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const input = child.stdin.getWriter();
  const request = chatRequest(server, { stream: true, texts });
  await input.write(encoder.encode(`${JSON.stringify(request)}\n`));
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await output.read();
  if (value?.trim() !== "open") throw new Error(`Could not open ${count} streams: ${value}`);
  return {
    async [Symbol.asyncDispose]() {
      await input.close();
      await output.read();
      await child.status;
    },
  };
}

/** The median of some looks, since garbage comes and goes. */
async function settledMb(server: Server): Promise<number> {
  await pause(SETTLE_MS);
  const looks: number[] = [];
  for (let look = 0; look < 11; look++) {
    looks.push(await residentMb(server.pid));
    await pause(200);
  }
  return median(looks);
}

async function measure(counts: readonly number[], seconds: number): Promise<void> {
  for (const count of counts) {
    for (const name of ["thin", "sluice"]) {
      await using upstream = await startUpstream({ paceMs: PACE_MS });
      await using server = await GATEWAYS[name]!(baseUrl(upstream));
      const send = () => sendSteadily(chatRequest(server), { perSecond: 100, seconds });
      await send(); // warm up
      { // code for streams is compiled, and connections are there, before memory is measured
        await using _ = await openStreams(server, 20);
        await pause(2 * PACE_MS);
      }
      const idle = await settledMb(server);
      const alone = await send();
      await using _ = await openStreams(server, count);
      const full = await settledMb(server);
      const beside = await send();
      say(
        `  ${name.padEnd(7)} ${String(count).padStart(5)} streams  ` +
          `${((full - idle) * 1_024 / count).toFixed(0).padStart(4)} KB each ` +
          `(${idle.toFixed(0)} to ${full.toFixed(0)} MB)  ` +
          `small requests p50 ${alone.p50.toFixed(2)} to ${beside.p50.toFixed(2)} ms, ` +
          `p99 ${alone.p99.toFixed(2)} to ${beside.p99.toFixed(2)} ms${failures([alone, beside])}`,
      );
    }
  }
}

if (import.meta.main && Deno.args[0] === "hold") {
  await hold(Number(Deno.args[1]));
} else if (import.meta.main) {
  const [counts = "1000,5000", seconds = "10"] = Deno.args;
  say(`Deno ${Deno.version.deno}, an event every ${PACE_MS} ms, 100 small requests a second`);
  await measure(counts.split(",").map(Number), Number(seconds));
}
