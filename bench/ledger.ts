/**
 * What does the ledger cost as it grows?
 *
 * Admits and settles requests through the gateway's own writer, as fast as 256 callers can, and
 * prints as they add up: rate, resident memory, size of the file, the time that an account's credits
 * take; at the end the time of the audit.
 *
 * With `--data DIR` the database stays there, and grows until it holds that many, so that
 * `deno task bench --only sluice --data DIR` can compare it with an empty one. With `--fast` requests are only settled,
 * the disk is not waited for, and beyond a million their records and entries are copied, a month earlier for each copy.
 * The copies are in no balance, which the audit of such a database finds.
 *
 * `deno run -A bench/ledger.ts [REQUESTS] [ACCOUNTS] [--data DIR] [--fast]`
 */

import { parseArgs } from "node:util";

import { foldLog, openDatabase } from "../src/ground/database/mod.ts";
import { creditUsage } from "../src/doors/http/credits.ts";
import { newRequestId } from "../src/ground/platform/ids.ts";
import { admit, audit, RULES, TierList } from "../src/money/ledger/mod.ts";
import { type Caller, createCaller, settleRequest } from "./charged_requests.ts";
import { median, residentMb, say } from "./harness.ts";

const { values: { data, fast }, positionals } = parseArgs({
  args: Deno.args,
  allowPositionals: true,
  options: { data: { type: "string" }, fast: { type: "boolean", default: false } },
});
const [REQUESTS = 1_000_000, ACCOUNTS = 50] = positionals.map(Number);
const CALLERS = fast ? 4_096 : 256;
const STEPS = 10;

const directory = data ?? await Deno.makeTempDir();
const database = await openDatabase({
  file: `${directory}/sluice.db`,
  durability: fast ? "normal" : "full",
  rules: RULES,
  now: Date.now,
});
const tierList = new TierList([{ above: 0, minute: 1e12, hour: 1e12, day: 1e12 }]);
await database.batch(tierList.statements);
const callers: Caller[] = [];
for (let index = 0; index < ACCOUNTS; index++) callers.push(await createCaller(database));

/** Requests are spread over the hours of a month, as an account's are. */
const MONTH_MS = 30 * 86_400_000;
const start = Date.now() - MONTH_MS;
let done = Number((await database.one("select count(*) as records from usage_records"))?.records);

async function request(): Promise<void> {
  const nowMs = start + Math.floor(done / SETTLED * MONTH_MS);
  const caller = callers[done % callers.length]!;
  const requestId = newRequestId(nowMs);
  if (!fast) {
    await admit(database, {
      requestId,
      ...caller,
      gatewayId: "gw_bench",
      least: 1,
      wanted: 2,
      nowMs,
      leaseMs: 60_000,
      tierListId: tierList.id,
    });
  }
  await settleRequest(database, { ...caller, requestId, nowMs });
}

async function creditsMs(): Promise<number> {
  const times: number[] = [];
  for (let tries = 0; tries < 21; tries++) {
    const began = performance.now();
    await creditUsage(database, {
      caller: { ...callers[0]!, teamId: null, memberId: null, hasBudget: false },
      query: new URLSearchParams(),
      nowMs: Date.now(),
    });
    times.push(performance.now() - began);
  }
  return median(times);
}

async function report(sinceMs: number, count: number): Promise<void> {
  const [size, wal] = await Promise.all(
    ["", "-wal"].map(async (end) => (await Deno.stat(`${directory}/sluice.db${end}`)).size / 1e6),
  );
  const rate = count / (performance.now() - sinceMs) * 1_000;
  say(
    `${String(done).padStart(9)} requests  ${rate.toFixed(0).padStart(6)}/s  ` +
      `${(await residentMb(Deno.pid)).toFixed(0)} MB resident  file ${size!.toFixed(0)} MB ` +
      `(log ${wal!.toFixed(0)} MB)  /user/credits ${(await creditsMs()).toFixed(1)} ms`,
  );
}

/**
 * Copies the records and entries of the last month into the months before it, without the rules, which the next start
 * installs again.
 */
async function copyMonths(months: number): Promise<void> {
  const triggers = await database.all(
    "select name from sqlite_master where type = 'trigger' and tbl_name in ('usage_records', 'entries')",
  );
  await database.batch([
    ...triggers.map(({ name }) => ({ sql: `drop trigger ${name}` })),
    { sql: "update installed_rules set hash = ''" },
  ]);
  for (let month = 1; month <= months; month++) {
    const earlierMs = month * MONTH_MS;
    const statements = await Promise.all(["usage_records", "entries"].map(async (table) => {
      const columns = (await database.all(`pragma table_info(${table})`)).map(({ name }) =>
        `${name}`
      );
      const values = columns.map((name) => {
        if (/^(started|admitted|settled)_at_ms$|^at_ms$/.test(name)) {
          return `${name} - ${earlierMs}`;
        }
        // the time in a request's id, so that copies are stored in one piece
        if (/^(request|cause)_id$/.test(name)) {
          const at = table === "entries" ? "at_ms" : "started_at_ms";
          return `'req_' || printf('%012x', ${at} - ${earlierMs}) || substr(${name}, 17)`;
        }
        return name;
      });
      const [id, at] = table === "entries"
        ? ["cause_id", "at_ms"]
        : ["request_id", "started_at_ms"];
      return {
        sql: `insert into ${table} (${columns.join(", ")}) select ${values.join(", ")} from ${table}
          where ${id} like 'req\\_%' escape '\\' and ${at} >= ${start} order by ${id}`,
      };
    }));
    await database.batch(statements);
    say(`${month} of ${months} months copied`);
  }
}

const COPIED = 1_000_000;
const SETTLED = fast ? Math.min(REQUESTS, COPIED) : REQUESTS;
for (
  const until of [
    10_000,
    ...Array.from({ length: STEPS }, (_, at) => (at + 1) * SETTLED / STEPS),
  ]
) {
  if (until <= done) continue;
  const began = performance.now();
  const before = done;
  await Promise.all(Array.from({ length: CALLERS }, async () => {
    while (done < until) {
      done++;
      await request();
    }
  }));
  await report(began, done - before);
}
if (done < REQUESTS && fast) await copyMonths(Math.ceil(REQUESTS / done) - 1);
if (data !== undefined) {
  await foldLog(database); // otherwise the next start would spend its first minutes on it
  await database.close();
  Deno.exit(0);
}
const began = performance.now();
const { mismatches, entries } = await audit(database);
say(
  `audit of ${entries} entries: ${((performance.now() - began) / 1_000).toFixed(1)} s, ` +
    `${mismatches.length} mismatches, ${(await residentMb(Deno.pid)).toFixed(0)} MB resident`,
);
await database.close();
await Deno.remove(directory, { recursive: true });
