/**
 * What grows while a gateway runs?
 *
 * Sends small requests, at a steady rate or as fast as they are served, over keys by turns, beside open streams. It is looked at thirty times:
 * memory, database, outbox, and p50 and p99 since the last look; in the end, how long a start on that database takes. Nothing may grow but the
 * database: memory of the last third of the time is compared with that of the second, and so is p99. Exit code 1 if something has grown.
 *
 * `deno run -A bench/growth.ts [--seconds 600] [--rate 200] [--keys 1] [--streams 0] [--data DIR] [--picture FILE]`; `--rate limit` needs `wrk`.
 */

import { parseArgs } from "node:util";
import { openStore } from "../src/assemble/mod.ts";
import { loadConfig } from "../src/settings/config/mod.ts";
import { drawCurves } from "./curves.ts";
import { baseUrl, startSluice, startUpstream } from "./gateways.ts";
import {
  chatRequest,
  type Measured,
  median,
  residentMb,
  runWrk,
  say,
  sendSteadily,
  type Server,
} from "./harness.ts";
import { openStreams } from "./streams.ts";

const LOOKS = 30;
const CONNECTIONS = 32;
/** Garbage comes and goes; what grows goes on. */
const MEMORY_FACTOR = 1.15;
/** The machine may have had something else to do. */
const P99_FACTOR = 2;
const P99_MS = 10;
/** Its two files, written up to their turns. */
const OUTBOX_MB = 4;
const MB = 1_048_576;

const { values } = parseArgs({
  args: Deno.args,
  options: {
    seconds: { type: "string", default: "600" },
    rate: { type: "string", default: "200" },
    keys: { type: "string", default: "1" },
    streams: { type: "string", default: "0" },
    data: { type: "string" },
    picture: { type: "string" },
  },
});
const [seconds, keys, streams] = [values.seconds, values.keys, values.streams].map(Number) as [
  number,
  number,
  number,
];
const perSecond = values.rate === "limit" ? undefined : Number(values.rate);

/** What is seen at a look. */
interface Look extends Pick<Measured, "p50" | "p99" | "errors"> {
  readonly atSeconds: number;
  /** Requests since the one before. */
  readonly requests: number;
  readonly memoryMb: number;
  readonly databaseMb: number;
  readonly outboxMb: number;
}

/** Makes keys of the owner's beside the gateway; returns what each sends. */
async function servers(
  server: Server,
  directory: string,
): Promise<Pick<Server, "headers" | "port">[]> {
  const config = await loadConfig({ env: {}, directory, file: `${directory}/bench.jsonc` });
  config.settings.data = directory;
  await using store = await openStore(config, { besideGateway: true });
  const owner = await store.owner();
  const all: Pick<Server, "headers" | "port">[] = [];
  for (let key = 0; key < keys; key++) {
    const { secret } = await store.keys.issue(owner);
    all.push({ port: server.port, headers: { authorization: `Bearer ${secret}` } });
  }
  return all;
}

async function sizesOf(directory: string): Promise<Pick<Look, "databaseMb" | "outboxMb">> {
  let [database, outbox] = [0, 0];
  for await (const { name } of Deno.readDir(directory)) {
    if (!name.startsWith("sluice.db")) continue;
    const { size } = await Deno.stat(`${directory}/${name}`).catch(() => ({ size: 0 }));
    if (name.includes("-outbox-")) outbox += size;
    else database += size;
  }
  return { databaseMb: database / MB, outboxMb: outbox / MB };
}

/** Sends for as long as a look takes. */
async function send(
  senders: readonly Pick<Server, "headers" | "port">[],
  { at, forSeconds }: { readonly at: number; readonly forSeconds: number },
): Promise<Pick<Look, "p50" | "p99" | "errors" | "requests">> {
  if (perSecond === undefined) {
    const load = { seconds: forSeconds, connections: CONNECTIONS };
    const measured = await runWrk(chatRequest(senders[at % senders.length]!), load);
    return { ...measured, requests: Math.round(measured.rate * forSeconds) };
  }
  let sent = 0;
  const next = () => chatRequest(senders[sent++ % senders.length]!);
  const measured = await sendSteadily(next, { perSecond, seconds: forSeconds });
  return { ...measured, requests: sent - measured.errors };
}

/** What has grown that must not. */
function grown(looks: readonly Look[]): string[] {
  const third = Math.floor(looks.length / 3);
  const compare = (of: "memoryMb" | "p99") =>
    [looks.slice(third, 2 * third), looks.slice(2 * third)]
      .map((part) => median(part.map((look) => look[of]))) as [number, number];
  const [memory, memoryLater] = compare("memoryMb");
  const [p99, p99Later] = compare("p99");
  const errors = looks.reduce((sum, one) => sum + one.errors, 0);
  const outboxMb = Math.max(...looks.map((look) => look.outboxMb));
  return [
    ...(memoryLater > memory * MEMORY_FACTOR
      ? [`memory: ${memory.toFixed(0)} to ${memoryLater.toFixed(0)} MB`]
      : []),
    ...(p99Later > p99 * P99_FACTOR + P99_MS
      ? [`p99: ${p99.toFixed(1)} to ${p99Later.toFixed(1)} ms`]
      : []),
    ...(outboxMb > OUTBOX_MB ? [`the outbox: ${outboxMb.toFixed(1)} MB`] : []),
    ...(errors > 0 ? [`${errors} requests failed`] : []),
  ];
}

const directory = values.data ?? await Deno.makeTempDir({ prefix: "sluice-growth-" });
await using upstream = await startUpstream({ paceMs: 1_000 });
const looks: Look[] = [];
let beforeMb = 0;
{
  await using server = await startSluice(baseUrl(upstream), { data: directory });
  const senders = await servers(server, directory);
  const forSeconds = Math.max(1, Math.round(seconds / LOOKS));
  say(
    `${seconds} s at ${
      perSecond === undefined ? "the limit" : `${perSecond} a second`
    }, ${keys} keys, ${streams} open streams`,
  );
  await using _ = streams === 0
    ? undefined
    : await openStreams(server, streams, { texts: Math.ceil(2 * seconds) + 600 });
  beforeMb = (await sizesOf(directory)).databaseMb;
  for (let at = 0; at < LOOKS; at++) {
    const sent = await send(senders, { at, forSeconds });
    const look: Look = {
      ...sent,
      atSeconds: (at + 1) * forSeconds,
      memoryMb: await residentMb(server.pid),
      ...await sizesOf(directory),
    };
    looks.push(look);
    say(
      `  ${String(look.atSeconds).padStart(6)} s  ${look.requests} requests  p50 ${
        look.p50.toFixed(1)
      } ms  p99 ${look.p99.toFixed(1)} ms  memory ${look.memoryMb.toFixed(0)} MB  database ${
        look.databaseMb.toFixed(1)
      } MB  outbox ${look.outboxMb.toFixed(1)} MB`,
    );
  }
}
const startedTick = performance.now();
{
  await using _ = await startSluice(baseUrl(upstream), { data: directory });
  say(`a start on it takes ${((performance.now() - startedTick) / 1_000).toFixed(2)} s`);
}
const requests = looks.reduce((sum, one) => sum + one.requests, 0);
// once it has stopped, all is in one file
const bytes = ((await sizesOf(directory)).databaseMb - beforeMb) * MB;
say(`${requests} requests, ${(bytes / requests).toFixed(0)} bytes each`);
if (values.picture !== undefined) {
  const curve = (of: "memoryMb" | "databaseMb" | "p99") =>
    looks.map((look) => ({ x: look.atSeconds, y: look[of] })).filter(({ y }) => y > 0);
  const curves = new Map([
    ["memory, MB", curve("memoryMb")],
    ["database, MB", curve("databaseMb")],
    ["p99, ms", curve("p99")],
  ]);
  await Deno.writeTextFile(values.picture, drawCurves("What grows, by seconds", curves));
  say(`drawn: ${values.picture}`);
}
if (values.data === undefined) await Deno.remove(directory, { recursive: true });
const found = grown(looks);
say(`growth: ${found.length === 0 ? "passed" : `failed: ${found.join(" · ")}`}`);
if (found.length > 0) Deno.exitCode = 1;
