/** Statements of credits: whatever moved a balance, the lines of each month add up, and end at the balance. */

import { parse } from "csv-parse/sync";
import { creditsOf, settle, takeBack } from "../../../src/money/ledger/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { creditStatement, creditStatementCsv } from "../../../src/money/usage/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { type LedgerBench, ledgerBench } from "../../fake/ledger.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sized } from "../../tier.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2030, 9, 20);
const MODELS = ["svc-k2", "svc-k3", "=cmd()"];

interface Caller {
  readonly accountId: string;
  readonly keyId: string;
}

/** Settles a request that began earlier than it ended, at times in the day, or the month, before. */
async function charge(bench: LedgerBench, caller: Caller, options: {
  readonly credits: number;
  readonly atMs: number;
  readonly route?: string;
  readonly tookMs?: number;
}): Promise<void> {
  const { credits, atMs, route = "svc-k2", tookMs = 1_000 } = options;
  await settle(bench.database, {
    ...caller,
    requestId: newRequestId(atMs - tookMs),
    ignored: "",
    dialect: "chat",
    route,
    upstream: "one",
    upstreamModel: "m",
    attempts: 1,
    status: 200,
    ending: "complete",
    streamed: false,
    usageSource: "upstream",
    inputTokens: 10,
    cachedTokens: 0,
    outputTokens: 5,
    reasoningTokens: 0,
    startedAtMs: atMs - tookMs,
    firstTokenMs: 1,
    durationMs: tookMs,
    priceCredits: credits,
    prices: { input: 0, cached: 0, output: 0, minimum: credits },
    admittedAtMs: null,
    settledAtMs: atMs,
  });
}

async function addsUp(bench: LedgerBench, accountId: string, nowMs: number): Promise<void> {
  const { balance } = await creditsOf(bench.database, accountId, nowMs);
  let before = 0;
  // up to the present, which is half a year later at most
  const months = Array.from(
    { length: 9 },
    (_, at) => new Date(Date.UTC(2030, 8 + at)).toISOString().slice(0, 7),
  );
  assert(nowMs < Date.UTC(2030, 8 + months.length));
  for (const month of months) {
    const one = await creditStatement(bench.database, { accountId, month, nowMs });
    assertEquals(one.opening, before, `${month} opens with what the month before ended with`);
    assertEquals(
      one.opening + one.granted - one.charged - one.expired - one.takenBack,
      one.closing,
    );
    let running = one.opening;
    for (const line of one.lines) {
      running += line.credits;
      assertEquals(line.balance, running, month);
      assert(line.atMs >= one.fromMs && line.atMs < one.untilMs, month);
    }
    assertEquals(running, one.closing, month);
    const rows = parse(creditStatementCsv(one), { columns: true }) as Record<string, string>[];
    const sum = rows.reduce((all, { credits }) => all + Number(credits), one.opening);
    assertEquals([rows[0]!.balance, sum, rows.at(-1)!.balance], [
      String(one.opening),
      one.closing,
      String(one.closing),
    ]);
    const closedMs = Math.min(one.untilMs, Math.max(one.fromMs, nowMs));
    assertEquals(
      rows.at(-1)!.time,
      new Date(closedMs).toISOString(),
      `${month} is not closed early`,
    );
    before = one.closing;
  }
  assertEquals(before, balance);
}

Deno.test("random books: opening and entries are the closing balance, and the last is the balance", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  try {
    for (let round = 0; round < sized(3, 30); round++) {
      await using bench = await ledgerBench("file");
      const [caller, other] = [await bench.account(), await bench.account()];
      const lots: string[] = [];
      let atMs = START;
      for (let step = 0; step < 60; step++) {
        atMs += random.integer(0, 3 * DAY);
        const whose = random.next() < 0.2 ? other : caller;
        const kind = random.next();
        if (kind < 0.25 || lots.length === 0) {
          const expiresAtMs = random.next() < 0.5 ? null : atMs + random.integer(1, 20) * DAY;
          const lot = await bench.grant(whose.accountId, random.integer(1, 500), expiresAtMs, atMs);
          if (whose === caller) lots.push(lot);
        } else if (kind < 0.32) {
          await takeBack(bench.database, {
            id: `back_${round}_${step}`,
            accountId: caller.accountId,
            lotId: random.pick(lots),
            credits: random.integer(1, 100),
            note: "a mistake",
            atMs,
          });
        } else {
          await charge(bench, whose, {
            credits: random.integer(0, 80),
            atMs,
            route: random.pick(MODELS),
            tookMs: random.pick([10, HOUR, 20 * HOUR]),
          });
        }
      }
      await addsUp(bench, caller.accountId, atMs);
      await addsUp(bench, other.accountId, atMs);
      await addsUp(bench, caller.accountId, atMs + 30 * DAY); // what has expired meanwhile
    }
  } catch (error) {
    throw new Error(`SLUICE_TEST_SEED=${seed}`, { cause: error });
  }
});

Deno.test("a day with charges is one line with its models; a month of many grants has a line a day", async () => {
  await using bench = await ledgerBench("file");
  const caller = await bench.account();
  const { accountId } = caller;
  const atMs = START + 12 * HOUR;
  await bench.grant(accountId, 1_000, null, atMs);
  for (let index = 0; index < 9; index++) {
    await charge(bench, caller, { credits: 2, atMs: atMs + index, route: MODELS[index % 3]! });
  }
  // it began on the last day of the month, and ended in the next
  const midnight = Date.UTC(2030, 10, 1);
  await charge(bench, caller, { credits: 5, atMs: midnight + HOUR, tookMs: 2 * HOUR });
  const nowMs = midnight + DAY;
  const of = (month: string) => creditStatement(bench.database, { accountId, month, nowMs });
  const october = await of("2030-10");
  assertEquals(
    october.lines.map(({ kind, credits, balance }) => [kind, credits, balance]),
    [["grant", 1_000, 1_000], ["charges", -18, 982], ["charges", -5, 977]],
  );
  const [, charges] = october.lines;
  assert(charges?.kind === "charges");
  assertEquals([charges.requests, charges.models.length], [9, 3]);
  assertEquals((await of("2030-11")).lines, []);
  assertEquals((await of("2030-11")).closing, 977);

  for (let index = 0; index < 301; index++) await bench.grant(accountId, 1, null, nowMs + index);
  const november = await of("2030-11");
  assertEquals(november.lines.map((line) => ["entries" in line && line.entries, line.balance]), [
    [301, 1_278],
  ]);
});

Deno.test("a statement reads no charge one by one", async () => {
  await using bench = await ledgerBench("file");
  const { accountId } = await bench.account();
  const plan = await bench.database.all(
    `explain query plan select sum(credits) from entries indexed by entries_but_charges
      where kind <> 'charge' and account_id = ? and at_ms >= 0`,
    [accountId],
  );
  assertEquals(plan.map(({ detail }) => detail), [
    "SEARCH entries USING COVERING INDEX entries_but_charges (account_id=? AND at_ms>?)",
  ]);
});
