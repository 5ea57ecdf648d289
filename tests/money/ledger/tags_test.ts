/** Roll-ups of tags and of failures: each request counts in them once, and nobody makes them grow without bound. */

import type { Database } from "../../../src/ground/database/mod.ts";
import { audit, lend, settle, TierList, type UsageRecord } from "../../../src/money/ledger/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { assert, assertEquals } from "../../assert.ts";
import { type LedgerBench, ledgerBench } from "../../fake/ledger.ts";
import { Random, testSeed } from "../../fake/random.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2030, 0, 1, 20);

interface Caller {
  readonly accountId: string;
  readonly keyId: string;
}

function recordOf(caller: Caller, atMs: number, more: Partial<UsageRecord> = {}): UsageRecord {
  return {
    ...caller,
    requestId: newRequestId(atMs),
    dialect: "chat",
    route: "svc-k2",
    upstream: "one",
    upstreamModel: "m",
    attempts: 1,
    status: 200,
    ending: "complete",
    streamed: false,
    usageSource: "upstream",
    inputTokens: 10,
    cachedTokens: 4,
    outputTokens: 5,
    reasoningTokens: 0,
    startedAtMs: atMs,
    firstTokenMs: 1,
    durationMs: 2,
    priceCredits: 3,
    prices: { input: 500_000, cached: 100_000, output: 0, minimum: 3 },
    admittedAtMs: atMs,
    ignored: "",
    settledAtMs: atMs,
    ...more,
  };
}

/** Lends an account credits, so that its requests are settled in sets. */
async function lent(bench: LedgerBench, caller: Caller) {
  const tierList = new TierList([{ above: 0, minute: 1e6, hour: 1e6, day: 1e6 }]);
  await bench.database.batch(tierList.statements);
  const loan = await lend(bench.database, {
    ...caller,
    gatewayId: "gw",
    loanId: "loan_1",
    isNew: true,
    nowMs: START,
    leaseMs: HOUR,
    tierList,
    leastCredits: 1,
    leastPlaces: 1,
  });
  assert(loan !== undefined);
  return { loanId: "loan_1", credits: 3 };
}

/** What the audit finds of roll-ups; requests that are only settled are in no window. */
async function wrongRollUps(database: Database) {
  const { mismatches } = await audit(database);
  return mismatches.filter(({ noun }) => ["tag", "day", "hour"].includes(noun));
}

Deno.test("each tag of a request, and why it failed, is in the roll-ups of its hour and day, in a set or alone", async () => {
  const random = new Random(testSeed());
  await using bench = await ledgerBench("file");
  const caller = await bench.account();
  await bench.grant(caller.accountId, 1_000_000);
  const loan = await lent(bench, caller);
  const expected = new Map<string, number>();
  const all: UsageRecord[] = [];
  for (let at = 0; at < 300; at++) {
    const atMs = START + random.integer(0, 7) * HOUR;
    const isComplete = random.next() < 0.7;
    const tags = random.next() < 0.2 ? undefined : {
      project: random.pick(["alpha", "beta"]),
      ...(random.next() < 0.5 ? { env: "ci" } : {}),
      session: `session ${at}`,
    };
    all.push(recordOf(caller, atMs, {
      tags,
      route: random.pick(["svc-k2", "svc-k3"]),
      lent: random.next() < 0.5 ? loan : undefined,
      ...(isComplete ? {} : {
        ending: "upstream_failed",
        failure: { reason: random.pick(["internal", "upstream_unavailable"]), message: "No." },
      }),
    }));
    const { route, failure } = all.at(-1)!;
    const { session: _, ...summed } = tags ?? {};
    const named = { ...summed, ...(failure === undefined ? {} : { ":reason": failure.reason }) };
    for (const [name, value] of Object.entries(named)) {
      for (const span of [HOUR, DAY]) {
        const id = [name, span, Math.floor(atMs / span) * span, route, value].join(" ");
        expected.set(id, (expected.get(id) ?? 0) + 1);
      }
    }
  }
  for (let at = 0; at < all.length; at += 37) {
    await Promise.all(all.slice(at, at + 37).map((one) => settle(bench.database, one)));
  }
  await Promise.all(all.slice(0, 50).map((one) => settle(bench.database, one))); // once more
  const rows = await bench.database.all("select * from usage_tags");
  const found = new Map(rows.map((row) => [
    [row.name, row.span_ms, row.at_ms, row.route, row.value].join(" "),
    Number(row.requests),
  ]));
  assertEquals([...found].toSorted(), [...expected].toSorted());
  assert(rows.every((row) => row.input_tokens === 10 * Number(row.requests)));
  assert(rows.every((row) => row.saved_millionths === 1_600_000 * Number(row.requests)));
  assertEquals(await wrongRollUps(bench.database), []);
});

Deno.test("an account's roll-ups of a day have 20 tags and tell 100 values of each apart, the others are 'other'", async () => {
  await using bench = await ledgerBench("file");
  const caller = await bench.account();
  await bench.grant(caller.accountId, 1_000_000);
  const loan = await lent(bench, caller);
  const settleAll = (count: number, tags: (at: number) => Record<string, string>) =>
    Promise.all(Array.from({ length: count }, (_, at) =>
      settle(
        bench.database,
        recordOf(caller, START, { tags: tags(at), lent: at % 2 === 0 ? loan : undefined }),
      )));
  await settleAll(130, (at) => ({ run: `run-${at}`, env: "ci" }));
  await settleAll(60, (at) => ({ [`tag-${at}`]: "x", env: "ci" }));
  await settleAll(130, (at) => ({ run: `run-${at}` }));
  const rows = await bench.database.all(
    `select name, count(*) as n, sum(requests) as requests, max(iif(value = 'other', requests, 0)) as others
      from usage_tags where span_ms = ${DAY} group by 1`,
  );
  assertEquals(rows.length, 20);
  const of = (name: string) => rows.find((row) => row.name === name);
  assertEquals(of("run"), { name: "run", n: 101, requests: 260, others: 60 });
  assertEquals(of("env"), { name: "env", n: 1, requests: 190, others: 0 });
  assertEquals(await wrongRollUps(bench.database), []);
});

Deno.test("the audit knows whose values a roll-up tells apart", async () => {
  await using bench = await ledgerBench("file");
  const [ada, bob] = [await bench.account(), await bench.account()];
  await Promise.all([ada, bob].map(({ accountId }) => bench.grant(accountId, 1_000_000)));
  const settleAll = (caller: Caller, runs: readonly number[]) =>
    Promise.all(
      runs.map((run) =>
        settle(bench.database, recordOf(caller, START, { tags: { run: `run-${run}` } }))
      ),
    );
  await settleAll(ada, Array.from({ length: 105 }, (_, at) => at));
  // of these, the roll-ups of the first account have 'other' for the last
  await settleAll(bob, [0, 1, 102, 103, 104]);
  const [others] = await bench.database.all(
    `select sum(iif(value = 'other' and account_id = ?, 1, 0)) as ada,
      sum(iif(value = 'other' and account_id = ?, 1, 0)) as bob
      from usage_tags where span_ms = ${DAY}`,
    [ada.accountId, bob.accountId],
  );
  assertEquals(others, { ada: 1, bob: 0 });
  assertEquals(await wrongRollUps(bench.database), []);
});

Deno.test("texts that are no Unicode are recorded without ending the process", async () => {
  await using bench = await ledgerBench("file");
  const caller = await bench.account();
  await bench.grant(caller.accountId, 100);
  await settle(bench.database, recordOf(caller, START, { tags: { user: "a\ud800b" } }));
  assertEquals(
    await bench.database.all(`select value from usage_tags where span_ms = ${DAY}`),
    [{ value: "a\ufffdb" }],
  );
});
