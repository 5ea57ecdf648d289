/** Requests of two accounts and a team over weeks, and whose they were: what reports are compared with. */

import { Accounts, Keys, Members, TeamKeys, Teams } from "../../src/people/accounts/mod.ts";
import { settle, type UsageRecord } from "../../src/money/ledger/mod.ts";
import { newRequestId } from "../../src/ground/platform/ids.ts";
import { SILENT } from "../../src/ground/telemetry/mod.ts";
import { DayTotals, type UsageParts } from "../../src/money/usage/mod.ts";
import { assert } from "../assert.ts";
import { ledgerBench, type LedgerKind } from "./ledger.ts";
import type { Random } from "./random.ts";

const DAY = 86_400_000;
/** The requests began within the 45 days from here on. */
export const START = Date.UTC(2026, 9, 10);
export const NOW = START + 50 * DAY;
/** Requests that end long after their day. */
const LATE = 8;

/** A request as it was recorded, and whose it was. */
export interface Known extends UsageRecord {
  readonly teamId: string;
  readonly memberId: string;
}

/** @param count Number of requests. */
export async function usageHistory(random: Random, count: number, kind: LedgerKind = "file") {
  await using stack = new AsyncDisposableStack();
  const bench = stack.use(await ledgerBench(kind));
  const { database } = bench;
  const now = () => START;
  const accounts = new Accounts(database, now);
  const teams = new Teams(database, now);
  const [keys, members, teamKeys] = [
    new Keys(database, now),
    new Members(database, now),
    new TeamKeys(database, now),
  ];
  const [ada, bob] = [
    await accounts.create({ email: "ada@example.com" }),
    await accounts.create({ email: "bob@example.com" }),
  ];
  const team = await teams.create({ name: "Platform", pool: true });
  for (const one of [ada, bob]) await members.add(team, one);
  const issued = [
    await keys.issue(ada, { name: "laptop" }),
    await keys.issue(bob),
    await teamKeys.issue(team, ada, { name: "ada's" }),
    await teamKeys.issue(team, bob, { name: "laptop" }),
    await teamKeys.issue(team, null, {}),
  ];
  for (const accountId of new Set(issued.map((key) => key.accountId))) {
    await bench.grant(accountId, 1e9);
  }
  const records: Known[] = [];
  for (let at = 0; at < count; at++) {
    const key = random.pick(issued);
    const startedAtMs = START + random.integer(0, 45 * DAY);
    const reason = random.next() < 0.3
      ? random.pick(["internal", "upstream_unavailable", undefined])
      : null;
    const inputTokens = random.integer(0, 5_000);
    records.push({
      teamId: key.teamId ?? "",
      memberId: key.memberId ?? "",
      requestId: newRequestId(startedAtMs),
      accountId: key.accountId,
      keyId: key.id,
      dialect: "chat",
      route: random.pick(["svc-k2", "svc-k3", "svc-k2.6"]),
      upstream: "one",
      upstreamModel: "m",
      attempts: 1,
      status: 200,
      ending: reason === null ? "complete" : "refused",
      streamed: false,
      usageSource: "upstream",
      inputTokens,
      cachedTokens: random.integer(0, inputTokens),
      outputTokens: random.integer(0, 900),
      reasoningTokens: 0,
      startedAtMs,
      firstTokenMs: 1,
      durationMs: random.integer(1, 9_000),
      priceCredits: reason === null ? random.integer(0, 90) : 0,
      prices: { input: 900_000, cached: 300_000, output: 1, minimum: 0 },
      admittedAtMs: null,
      ignored: "",
      settledAtMs: startedAtMs,
      failure: reason ? { reason, message: "No." } : undefined,
      tags: random.next() < 0.5
        ? undefined
        : { project: random.pick(["alpha", "beta"]), session: `s${at % 7}` },
    });
  }
  const settleAll = async (some: readonly Known[]) => {
    for (let at = 0; at < some.length; at += 100) {
      await Promise.all(some.slice(at, at + 100).map((one) => settle(database, one)));
    }
  };
  // the last ones end when their days are over, and have been added up
  await settleAll(records.slice(0, -LATE));
  await new DayTotals({ database, log: SILENT, now: () => NOW }).addUp();
  await settleAll(records.slice(-LATE));
  const days = new Set(records.map(({ startedAtMs }) => Math.floor(startedAtMs / DAY))).size;
  const { n } = (await database.one(
    "select count(distinct day_at_ms) as n from usage_day_totals",
  ))!;
  assert(Number(n) >= days - LATE && Number(n) < days, `${n} of ${days} days have totals`);
  const owned = stack.move();
  const parts: UsageParts = { database, accounts, teams, now: () => NOW };
  return {
    parts,
    records,
    issued,
    ada,
    team,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
