/**
 * What does it cost to share a database?
 *
 * First the ledger alone, in a file and on a PostgreSQL of its own that waits for its disk: the time of a commit of 1, 8 and 32 requests of
 * eight accounts, and the processor time that a request of it takes of the database's server. Then gateways under load, all on this machine,
 * over an upstream of 20 ms: one and three at files, one and three at PostgreSQL, where the three have a database each or share one, with
 * the same number of connections in all.
 *
 * Needs `wrk` and PostgreSQL. `deno run -A --lock=tests/deno.lock bench/shared.ts [SECONDS] [ROUNDS] [--only ledger|gateways]`
 */

import { parseArgs } from "node:util";
import { openDatabase } from "../src/ground/database/mod.ts";
import { newRequestId } from "../src/ground/platform/ids.ts";
import { admit, lend, RULES, TierList } from "../src/money/ledger/mod.ts";
import { type PostgresServer, postgresServer } from "../tests/fake/postgres.ts";
import { createCaller, settleRequest } from "./charged_requests.ts";
import { baseUrl, startSluice, startUpstream } from "./gateways.ts";
import {
  chatRequest,
  failures,
  interleave,
  type Measured,
  median,
  medianRatio,
  processorTime,
  runWrk,
  say,
  type Server,
} from "./harness.ts";

const { values: { only }, positionals } = parseArgs({
  args: Deno.args,
  allowPositionals: true,
  options: { only: { type: "string" } },
});
const [seconds = 3, rounds = 5] = positionals.map(Number);
const ACCOUNTS = 8;
const BATCHES = [1, 8, 32];
/** Commits of a measurement. */
const COMMITS = 40;
const CONNECTIONS = 48;
const UPSTREAM_MS = 20;

/** Microseconds of processor time that all processes of a PostgreSQL have used. */
async function serverTime({ socket }: PostgresServer): Promise<number> {
  const [pid] = (await Deno.readTextFile(`${socket}/data/postmaster.pid`)).split("\n");
  let micros = 0;
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await Deno.readTextFile(`/proc/${name}/stat`).catch(() => "");
    if (/^.*\) \S (\d+)/.exec(stat)?.[1] !== pid) continue;
    micros += sum((await processorTime(Number(name))).values());
  }
  return micros;
}

/** What a request costs that is put to a ledger in one commit with others. */
interface Commit {
  readonly ms: number;
  readonly serverMicros: number;
}

/** A ledger with accounts that have lent credits. */
async function openLedger(place: { file?: string; url?: string }) {
  const database = await openDatabase({
    file: place.file,
    ...(place.url === undefined ? {} : { server: { url: place.url, token: undefined } }),
    durability: "full",
    rules: RULES,
    now: Date.now,
  });
  const tierList = new TierList([{ above: 0, minute: 1e12, hour: 1e12, day: 1e12 }]);
  await database.batch(tierList.statements);
  const callers = [];
  for (let at = 0; at < ACCOUNTS; at++) {
    const { accountId, keyId } = await createCaller(database);
    const loan = { gatewayId: "gw_bench", loanId: accountId, isNew: true, leaseMs: 1e9, tierList };
    const least = { leastCredits: 1, leastPlaces: 1 };
    await lend(database, { accountId, keyId, ...loan, ...least, nowMs: Date.now() });
    callers.push({ accountId, keyId });
  }
  return { database, callers, tierList };
}

type Ledger = Awaited<ReturnType<typeof openLedger>>;

async function admitOne({ database, callers, tierList }: Ledger, at: number): Promise<string> {
  const nowMs = Date.now();
  const requestId = newRequestId(nowMs);
  const caller = callers[at % ACCOUNTS]!;
  const asked = { gatewayId: "gw_bench", least: 1, wanted: 2, nowMs, leaseMs: 60_000 };
  const { verdict } = await admit(database, {
    requestId,
    ...caller,
    ...asked,
    route: "svc-k2",
    tierListId: tierList.id,
  });
  if (verdict !== "admitted") throw new Error(`not admitted: ${verdict}`);
  return requestId;
}

/** @param requestId Of a request that was admitted; undefined for one that a loan covers. */
async function settleOne(
  { database, callers }: Ledger,
  at: number,
  requestId?: string,
): Promise<void> {
  const nowMs = Date.now();
  const caller = callers[at % ACCOUNTS]!;
  await settleRequest(database, {
    ...caller,
    requestId: requestId ?? newRequestId(nowMs),
    lent: requestId === undefined ? { loanId: caller.accountId, credits: 2 } : undefined,
    nowMs,
  });
}

/** Measures commits of some requests: first those that a loan covers, then those that the database admits and settles. */
async function commits(ledger: Ledger, size: number, server: PostgresServer | undefined) {
  const places = Array.from({ length: size }, (_, at) => at);
  const admitted: string[][] = [];
  const works = {
    "settled, lent": () => Promise.all(places.map((at) => settleOne(ledger, at))),
    admitted: async () => {
      admitted.push(await Promise.all(places.map((at) => admitOne(ledger, at))));
    },
    "settled, held": () => {
      const ids = admitted.pop()!;
      return Promise.all(places.map((at) => settleOne(ledger, at, ids[at])));
    },
  };
  const measured: Record<string, Commit> = {};
  for (const [name, work] of Object.entries(works)) {
    const times: number[] = [];
    const before = server === undefined ? 0 : await serverTime(server);
    for (let commit = 0; commit < COMMITS; commit++) {
      const began = performance.now();
      await work();
      times.push(performance.now() - began);
    }
    const used = server === undefined ? 0 : await serverTime(server) - before;
    measured[name] = { ms: median(times), serverMicros: used / COMMITS / size };
  }
  return measured;
}

async function compareLedgers(): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "sluice-bench-" });
  await using server = await postgresServer({ durable: true });
  const variants = [
    { name: "file", ledger: await openLedger({ file: `${directory}/sluice.db` }) },
    { name: "postgres", ledger: await openLedger({ url: server.url }), server },
  ];
  for (const { ledger } of variants) await commits(ledger, 8, undefined); // warm up
  for (const size of BATCHES) {
    const results = await interleave(
      variants,
      rounds,
      ({ ledger, server }) => commits(ledger, size, server),
    );
    for (const [{ name }, all] of results) {
      const texts = Object.keys(all[0]!).map((work) => {
        const middle = (of: keyof Commit) => median(all.map((one) => one[work]![of]));
        const micros = middle("serverMicros");
        return `${work} ${middle("ms").toFixed(1)} ms${
          micros === 0 ? "" : `, server ${micros.toFixed(0)} µs a request`
        }`;
      });
      say(`  ${name.padEnd(9)} ${String(size).padStart(3)} a commit: ${texts.join("; ")}`);
    }
  }
  for (const { ledger } of variants) await ledger.database.close();
  await Deno.remove(directory, { recursive: true });
}

function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((all, one) => all + one, 0);
}

/** Puts load on gateways, each with its part of the connections. */
async function load(gateways: readonly Server[], forSeconds: number): Promise<Measured> {
  const connections = CONNECTIONS / gateways.length;
  const all = await Promise.all(
    gateways.map((one) => runWrk(chatRequest(one), { seconds: forSeconds, connections })),
  );
  return {
    rate: sum(all.map(({ rate }) => rate)),
    p50: median(all.map(({ p50 }) => p50)),
    p99: Math.max(...all.map(({ p99 }) => p99)),
    errors: sum(all.map(({ errors }) => errors)),
  };
}

async function compareGateways(): Promise<void> {
  await using server = await postgresServer({ durable: true });
  await using upstream = await startUpstream({ delayMs: UPSTREAM_MS });
  await using ending = new AsyncDisposableStack();
  const start = async (url?: string) =>
    ending.use(
      await startSluice(baseUrl(upstream), {
        settings: url === undefined ? {} : { database: { url } },
      }),
    );
  const names = ["one", "shared", "first", "second", "third"];
  await server.run(names.map((name) => `create database ${name};`).join("\n"));
  const [one, shared, ...own] = names.map((name) => server.url.replace(/[^/]*$/, name));
  const startAll = (urls: readonly (string | undefined)[]) => Promise.all(urls.map(start));
  const variants = [
    { name: "one, file", gateways: await startAll([undefined]) },
    { name: "one, postgres", gateways: await startAll([one]) },
    { name: "three, files", gateways: await startAll([undefined, undefined, undefined]) },
    { name: "three, apart", gateways: await startAll(own) },
    { name: "three, shared", gateways: await startAll([shared, shared, shared]) },
  ];
  for (const { gateways } of variants) await load(gateways, 2); // warm up
  const results = await interleave(variants, rounds, async ({ gateways }) => {
    await load(gateways, 1);
    const times = async () => [
      await serverTime(server),
      sum(
        await Promise.all(
          gateways.map(async ({ pid }) => sum((await processorTime(pid)).values())),
        ),
      ),
    ];
    const before = await times();
    const measured = await load(gateways, seconds);
    const used = (await times()).map((micros, at) =>
      (micros - before[at]!) / (measured.rate * seconds)
    );
    return { ...measured, serverMicros: used[0]!, gatewayMicros: used[1]! };
  });
  const rates = [...results.values()].map((all) => all.map(({ rate }) => rate));
  for (const [{ name }, all] of results) {
    const middle = (of: keyof typeof all[number]) => median(all.map((round) => round[of]));
    say(
      `  ${name.padEnd(16)} ${middle("rate").toFixed(0).padStart(6)}/s  ${
        medianRatio(all.map(({ rate }) => rate), rates[1]!).toFixed(2)
      } of one  p50 ${middle("p50").toFixed(1)} ms  p99 ${
        middle("p99").toFixed(1)
      } ms  a request: server ${middle("serverMicros").toFixed(0)} µs, gateways ${
        middle("gatewayMicros").toFixed(0)
      } µs${failures(all)}`,
    );
  }
}

say(`Deno ${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${rounds} rounds`);
if (only !== "gateways") await compareLedgers();
if (only !== "ledger") await compareGateways();
