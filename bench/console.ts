/**
 * How long does each page of the console take with ten million recorded requests?
 *
 * Writes the database of an installation of 200 accounts and 1,000 keys (`large_database.ts`), proves its books by the
 * audit, and opens every page as each role, on loopback: median and 95th percentile of a number of rounds, the
 * processor time of a round (of gateway, database and client, all in this process), and its bytes.
 * With `--cold` each page is instead the first that a gateway which has just started shows, its file not in the page cache.
 *
 * `deno run -A bench/console.ts [REQUESTS] [--data DIR] [--rounds 30] [--as big,owner] [--only TEXT] [--cold] [--audit]`
 *
 * `--data DIR` keeps the database, or uses the one that is there. `--as` and `--only` select visitors and pages. A line of a
 * page that takes too much of a processor begins with `!`.
 */

import { cpuUsage } from "node:process";
import { parseArgs } from "node:util";
import { type Database, openDatabase } from "../src/ground/database/mod.ts";
import { audit, RULES } from "../src/money/ledger/mod.ts";
import { SILENT } from "../src/ground/telemetry/mod.ts";
import { DayTotals } from "../src/money/usage/mod.ts";
import { startGateway, type TestGateway } from "../tests/fake/gateway.ts";
import { type PlainBrowser, signedIn } from "../tests/fake/visitor.ts";
import { median, say } from "./harness.ts";
import { type LargeDatabase, largeSettings, writeLargeDatabase } from "./large_database.ts";

const { values, positionals } = parseArgs({
  args: Deno.args,
  allowPositionals: true,
  options: {
    data: { type: "string" },
    rounds: { type: "string", default: "30" },
    as: { type: "string", default: "member,big,ten,lead,operator,finance,owner" },
    only: { type: "string", default: "" },
    cold: { type: "boolean", default: false },
    audit: { type: "boolean", default: false },
  },
});
const REQUESTS = Number(positionals[0] ?? 10_000_000);
const ROUNDS = Number(values.rounds);
const DAY_MS = 86_400_000;
const MAX_HOME_MS = 50;
const MAX_MS = 150;

type Role = keyof LargeDatabase["emails"];

/** Pages of every account, with their filters, ranges and groupings. */
function ownPages({ nowMs, model, requestId, failedId }: LargeDatabase, role: Role): string[] {
  const date = (daysAgo: number) => new Date(nowMs - daysAgo * DAY_MS).toISOString().slice(0, 10);
  const usage = [
    ...["day", "hour", "month", "model", "key", "reason", "tag:project", "day,model", "key,model"]
      .map((by) => `by=${by}`),
    ...["1d", "7d", "90d", date(0).slice(0, 7)].map((since) => `since=${since}`),
    ...["1d", "7d", "90d"].map((since) => `by=model&since=${since}&compare=1`),
    `since=${date(80)}&until=${date(20)}&zone=America/Los_Angeles`,
    "by=hour&since=7d&zone=Asia/Kolkata",
    "by=key&since=90d",
    "by=tag:session&since=1d",
    "tag=project%3Dproject-7",
  ];
  const requests = [
    ...["today", "24h", "7d", "30d", "90d", "month"].map((range) => `range=${range}`),
    `from=${date(40)}&to=${date(35)}`,
    `model=${model}`,
    "model=provider-3/instruct-40-2026-06&range=90d",
    "model=unknown",
    "key=key_unknown",
    "status=failed",
    "status=client_left",
    "status=refused&range=90d",
    "tag=project%3Dproject-7",
    "tag=project%3Dnone",
    `q=${requestId.slice(0, 14)}`,
    `before=${nowMs - 45 * DAY_MS}.req_`,
    `before=${nowMs - 89 * DAY_MS}.req_`,
  ];
  return [
    "/console/",
    "/console/keys",
    "/console/usage",
    ...usage.map((query) => `/console/usage?${query}`),
    "/console/requests",
    ...requests.map((query) => `/console/requests?${query}`),
    ...role === "big" || role === "owner"
      ? [`/console/requests/${requestId}`, `/console/requests/${failedId}`]
      : [],
    "/console/notices",
    "/console/credits",
    `/console/credits?month=${date(40).slice(0, 7)}`,
    `/console/credits?month=${date(75).slice(0, 7)}`,
    `/console/credits.csv?month=${date(40).slice(0, 7)}`,
    "/console/statement",
    "/console/playground",
    "/console/account",
    "/console/models",
    "/console/models?q=instruct&sort=input&can=tools",
    "/console/teams",
    "/docs",
  ];
}

/** Pages about teams, other accounts and the gateway. */
function othersPages(
  { nowMs, accountIds, teamId, model }: LargeDatabase,
  role: Role,
): string[] {
  const team = `/console/teams/${teamId}`;
  if (role === "big" || role === "ten") return [];
  if (role === "lead" || role === "member") return [team];
  const date = (daysAgo: number) => new Date(nowMs - daysAgo * DAY_MS).toISOString().slice(0, 10);
  const usage = [
    ...["day", "hour", "month", "model", "key", "reason", "account", "team", "member"]
      .map((by) => `all=1&by=${by}`),
    ...["1d", "7d", "90d", date(0).slice(0, 7)].map((since) => `all=1&since=${since}`),
    "all=1&by=account&since=90d&compare=1",
    "all=1&by=tag:project",
    "all=1&by=day,model",
    `all=1&since=${date(80)}&until=${date(20)}&zone=America/Los_Angeles`,
    "account=big@example.com",
    "account=big@example.com&by=model&since=90d",
    "team=Team%200",
    "team=Team%200&by=member&since=90d&compare=1",
  ];
  const operator = [
    "",
    ...["today", "7d", "30d", "90d"].map((range) => `?range=${range}`),
    "/accounts",
    "/accounts?q=someone1",
    "/accounts?q=nobody",
    `/accounts/${accountIds.big}`,
    `/accounts/${accountIds.member}`,
    "/alerts",
    "/invites",
    "/payments",
    "/audit",
    ...role === "finance" ? [] : [
      "/live",
      "/upstreams",
      "/routes",
      "/log",
      "/log?by=operator@example.com",
      "/log?by=nobody@example.com",
      `/log?about=${accountIds.big}`,
      "/log?after=op_0000000000025000",
    ],
    ...role === "owner" ? ["/settings", `/routes/edit?route=${model}`] : [],
  ];
  return [
    team,
    ...usage.map((query) => `/console/usage?${query}`),
    ...operator.map((path) => `/console/operator${path}`),
  ];
}

const directory = values.data ?? await Deno.makeTempDir();
const file = `${directory}/sluice.db`;
const built = await Deno.readTextFile(`${directory}/built.json`).catch(() => undefined);
const large: LargeDatabase = built === undefined
  ? await writeLargeDatabase(directory, REQUESTS)
  : JSON.parse(built);
if (built === undefined) {
  await Deno.writeTextFile(`${directory}/built.json`, JSON.stringify(large));
}
say(
  `Deno ${Deno.version.deno}, ${large.requests} requests in 90 days, file ${
    ((await Deno.stat(file)).size / 1e9).toFixed(1)
  } GB, ${ROUNDS} rounds`,
);
await addUpDays();
if (built === undefined || values.audit) await prove();

/** Opens the database as a gateway does, at its own time. */
function openLarge(): Promise<Database> {
  return openDatabase({ file, durability: "normal", rules: RULES, now: () => large.nowMs });
}

/** As a gateway does in the background. */
async function addUpDays(): Promise<void> {
  const database = await openLarge();
  const began = performance.now();
  await new DayTotals({ database, log: SILENT, now: () => large.nowMs }).addUp();
  const [row] = await database.all(
    "select count(distinct day_at_ms) as days, count(*) as n from usage_day_totals",
  );
  const ms = (performance.now() - began).toFixed(0);
  say(`totals of ${row!.days} days, ${row!.n} rows: ${ms} ms`);
  await database.close();
}

/** The audit finds nothing, and roll-ups of a sample of hours are those of the records. */
async function prove(): Promise<void> {
  const database = await openLarge();
  const began = performance.now();
  const { mismatches, records, entries } = await audit(database);
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  say(
    `audit of ${records} records and ${entries} entries: ${seconds} s, ${mismatches.length} wrong`,
  );
  if (mismatches.length > 0) throw new Error(JSON.stringify(mismatches.slice(0, 5)));
  for (let hours = 5; hours < 90 * 24; hours += 397) {
    const atMs = large.nowMs - hours * 3_600_000;
    const [row] = await database.all(
      `select (select json_array(count(*), sum(charged_credits), sum(output_tokens))
          from usage_records where account_id = ?1 and started_at_ms >= ?2 and started_at_ms < ?3)
          as records,
        (select json_array(sum(requests), sum(credits), sum(output_tokens)) from usage_hours
          where account_id = ?1 and hour_at_ms = ?2) as roll_ups`,
      [large.accountIds.big, atMs, atMs + 3_600_000],
    );
    if (row!.records !== row!.roll_ups) throw new Error(JSON.stringify(row));
  }
  await database.close();
}

/** A gateway at the time at which the database was made. */
function start(): Promise<TestGateway> {
  const aheadMs = Date.now() - large.nowMs;
  return startGateway({ settings: largeSettings(directory), now: () => Date.now() - aheadMs });
}

/** Drops the file from the page cache. */
async function forget(): Promise<void> {
  await new Deno.Command("dd", {
    args: [`of=${file}`, "oflag=nocache", "conv=notrunc,fdatasync", "count=0"],
    stderr: "null",
  }).output();
}

async function open(browser: PlainBrowser, path: string) {
  const began = performance.now();
  const response = await browser.get(path);
  const { byteLength: bytes } = await response.arrayBuffer();
  return { ms: performance.now() - began, bytes, status: response.status };
}

/** Processor time of all threads, which others on the machine change little. */
function processorMs(): number {
  const { user, system } = cpuUsage();
  return (user + system) / 1_000;
}

function print(
  role: Role,
  path: string,
  times: readonly number[],
  { processor, rest = "" }: { readonly processor: number; readonly rest?: string },
): void {
  const sorted = times.toSorted((a, b) => a - b);
  const middle = median(sorted);
  const p95 = sorted[Math.ceil(0.95 * sorted.length) - 1]!;
  const isSlow = processor > (path === "/console/" ? MAX_HOME_MS : MAX_MS);
  const figures = `${middle.toFixed(1).padStart(7)} ms, p95 ${p95.toFixed(1).padStart(7)} ms, ` +
    `${processor.toFixed(1).padStart(6)} of a processor`;
  say(`${isSlow ? "!" : " "} ${role.padEnd(8)} ${path.padEnd(64)} ${figures}${rest}`);
}

for (const role of values.as.split(",") as Role[]) {
  const paths = [...ownPages(large, role), ...othersPages(large, role)]
    .filter((path) => path.includes(values.only));
  if (values.cold) {
    for (const path of paths) {
      await forget();
      await using gateway = await start();
      const browser = await signedIn(gateway, large.emails[role]);
      const before = processorMs();
      const { ms } = await open(browser, path);
      print(role, path, [ms], { processor: processorMs() - before });
    }
    continue;
  }
  await using gateway = await start();
  const browser = await signedIn(gateway, large.emails[role]);
  for (const path of paths) {
    const times: number[] = [];
    let last = await open(browser, path);
    if (last.status !== 200 && last.status !== 303) say(`${path}: status ${last.status}`);
    const before = processorMs();
    for (let round = 0; round < ROUNDS; round++) {
      last = await open(browser, path);
      times.push(last.ms);
    }
    const processor = (processorMs() - before) / ROUNDS;
    print(role, path, times, { processor, rest: `, ${last.bytes} bytes` });
  }
  let total = (await open(browser, "/console/")).bytes;
  for (const name of ["style.css", "console.js", "icon.svg"]) {
    total += (await open(browser, `/console/assets/${name}`)).bytes;
  }
  say(`  ${role}: the first page with what it loads: ${total} bytes`);
}
if (values.data === undefined) await Deno.remove(directory, { recursive: true });
