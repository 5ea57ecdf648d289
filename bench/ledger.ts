/**
 * What does the ledger cost as it grows?
 *
 * Admits and settles requests through the gateway's own writer, as fast as 256 callers can, and
 * prints as they add up: rate, resident memory, size of the file, the time that an account's credits
 * take; at the end the time of the audit.
 *
 * `deno run -A bench/ledger.ts [REQUESTS] [ACCOUNTS]`
 */

import { Accounts, Keys } from "../src/accounts/mod.ts";
import { openDatabase } from "../src/database/mod.ts";
import { creditUsage } from "../src/http/mod.ts";
import { newRequestId } from "../src/platform/ids.ts";
import {
  admit,
  audit,
  grantStatements,
  newLotId,
  RULES,
  settle,
  TierList,
} from "../src/ledger/mod.ts";
import { median, residentMb, say } from "./harness.ts";

const [wanted = "1000000", accountsWanted = "50"] = Deno.args;
const REQUESTS = Number(wanted);
const CALLERS = 256;
const STEPS = 10;

const directory = await Deno.makeTempDir();
const database = await openDatabase({
  file: `${directory}/sluice.db`,
  durability: "full",
  rules: RULES,
  now: Date.now,
});
const tierList = new TierList([{ above: 0, minute: 1e12, hour: 1e12, day: 1e12 }]);
await database.batch(tierList.statements);
const accounts = new Accounts(database, Date.now);
const keys = new Keys(database, Date.now);
const callers: { accountId: string; keyId: string }[] = [];
for (let index = 0; index < Number(accountsWanted); index++) {
  const account = await accounts.create({ email: `a${index}@example.com` });
  const { id: keyId } = await keys.issue(account);
  await database.batch(grantStatements({
    lotId: newLotId(),
    accountId: account.id,
    source: "grant",
    credits: 1e12,
    expiresAtMs: null,
    atMs: Date.now(),
  }));
  callers.push({ accountId: account.id, keyId });
}

/** Requests are spread over the hours of a month, as an account's are. */
const MONTH_MS = 30 * 86_400_000;
const start = Date.now() - MONTH_MS;
let done = 0;

async function request(): Promise<void> {
  const nowMs = start + Math.floor(done / REQUESTS * MONTH_MS);
  const caller = callers[done % callers.length]!;
  const requestId = newRequestId(nowMs);
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
  await settle(database, {
    ignored: "",
    requestId,
    ...caller,
    dialect: "chat",
    route: "svc-k2",
    upstream: "one",
    upstreamModel: "model",
    attempts: 1,
    status: 200,
    ending: "complete",
    streamed: false,
    usageSource: "upstream",
    inputTokens: 1_000,
    cachedTokens: 0,
    outputTokens: 300,
    reasoningTokens: 0,
    startedAtMs: nowMs,
    firstTokenMs: 400,
    durationMs: 900,
    priceCredits: 1,
    prices: { input: 100, cached: 50, output: 400, minimum: 1 },
    admittedAtMs: nowMs,
    settledAtMs: nowMs,
  });
}

async function creditsMs(): Promise<number> {
  const times: number[] = [];
  for (let tries = 0; tries < 21; tries++) {
    const began = performance.now();
    await creditUsage(database, {
      accountId: callers[0]!.accountId,
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

for (
  const until of [
    10_000,
    ...Array.from({ length: STEPS }, (_, at) => (at + 1) * REQUESTS / STEPS),
  ]
) {
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
const began = performance.now();
const { mismatches, entries } = await audit(database);
say(
  `audit of ${entries} entries: ${((performance.now() - began) / 1_000).toFixed(1)} s, ` +
    `${mismatches.length} mismatches, ${(await residentMb(Deno.pid)).toFixed(0)} MB resident`,
);
await database.close();
await Deno.remove(directory, { recursive: true });
