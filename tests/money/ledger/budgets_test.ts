/** Budgets with periods: what they allow, when they renew, and what nobody gets around them by. */

import { newRequestId } from "../../../src/ground/platform/ids.ts";
import {
  accountStatusOf,
  admit,
  audit,
  type BudgetName,
  budgetOf,
  budgetsOf,
  budgetsOn,
  type BudgetTerms,
  growHold,
  lend,
  openPeriods,
  openPeriodsOfKey,
  periodAt,
  raiseBudget,
  reapHolds,
  removeBudget,
  returnLoan,
  setBudget,
  TierList,
} from "../../../src/money/ledger/mod.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { Retention } from "../../../src/money/usage/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import {
  holdRequest,
  type LedgerBench,
  ledgerBench,
  type LedgerKind,
  possible,
  settlePrice,
} from "../../fake/ledger.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { isProof, sized } from "../../tier.ts";
import { until } from "../../fake/temp.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOON = Date.UTC(2030, 0, 2, 12); // a Wednesday
const tierList = new TierList([{ above: 0, minute: 10_000, hour: 100_000, day: 1_000_000 }]);

interface Caller {
  readonly accountId: string;
  readonly keyId: string;
}

function ask(caller: Caller, wanted: number, nowMs: number, least = 1) {
  return { ...holdRequest(caller, { least, wanted, nowMs, tierList }), mayRecall: true };
}

/** Admits and settles a request; returns what it was charged, or why not. */
async function spend({ database }: LedgerBench, caller: Caller, price: number, nowMs: number) {
  const one = ask(caller, price, nowMs, price);
  const { verdict } = await admit(database, one);
  if (verdict !== "admitted") return verdict;
  const settled = { ...one, price, admittedAtMs: nowMs };
  return (await settlePrice(database, settled)).charged;
}

async function scene(kind: LedgerKind = "file", credits = 100_000) {
  const bench = await ledgerBench(kind);
  await bench.database.batch(tierList.statements);
  const caller = await bench.account();
  await bench.grant(caller.accountId, credits, null, NOON - 40 * DAY);
  const ofKey = (period: BudgetName["period"], more: Partial<BudgetTerms> = {}) => ({
    owner: "key" as const,
    ownerId: caller.keyId,
    period,
    credits: 10,
    ...more,
  });
  return { bench, database: bench.database, caller, ofKey };
}

const used = async ({ database }: LedgerBench, name: BudgetName, nowMs: number) => {
  const budget = await budgetOf(database, name, nowMs);
  return budget && [budget.spent, budget.held, budget.left];
};

async function assertClean({ database }: LedgerBench): Promise<void> {
  assertEquals((await audit(database)).mismatches, []);
}

// with PostgreSQL only where nothing else runs: it is the longest transaction that there is
for (const kind of possible(isProof ? ["file", "server", "postgres"] : ["file", "server"])) {
  Deno.test(`budgets (${kind}): 300 requests at once, over keys and accounts, on a team's of ten`, async () => {
    const { bench, database, caller } = await scene(kind);
    await using _bench = bench;
    const other = await bench.account();
    await bench.grant(other.accountId, 1_000);
    const { teamId, callers, key } = await bench.team([caller.accountId, other.accountId]);
    callers.push({ ...caller, keyId: await key(caller.accountId) });
    const team = { owner: "team", ownerId: teamId, period: "day" } as const;
    await setBudget(database, { ...team, credits: 50 }, { nowMs: NOON });
    await using second = {
      database: await bench.connect(),
      async [Symbol.asyncDispose]() {
        await this.database.close();
      },
    };
    const lines = kind === "file" ? [database] : [database, second.database];
    const asks = Array.from({ length: 300 }, (_, at) => ask(callers[at % 3]!, 5, NOON, 5));
    const decisions = await Promise.all(
      asks.map((one, at) => admit(lines[at % lines.length]!, one)),
    );
    const admitted = asks.filter((_, at) => decisions[at]!.verdict === "admitted");
    assertEquals(admitted.length, 10);
    assertEquals(await used(bench, team, NOON), [0, 50, 0]);
    // dearer than was estimated
    await Promise.all(
      admitted.map((one) => settlePrice(database, { ...one, price: 9, admittedAtMs: NOON })),
    );
    assertEquals(await used(bench, team, NOON), [90, 0, 0]);
    await assertClean(bench);
  });
}

Deno.test("budgets: each period renews once, at its turn, to the millisecond", async () => {
  for (
    const [period, zone] of [
      ["day", "UTC"],
      ["day", "Asia/Kathmandu"],
      ["week", "Australia/Lord_Howe"],
      ["month", "Europe/Berlin"],
    ] as const
  ) {
    const { bench, database, caller, ofKey } = await scene();
    await using _bench = bench;
    const budget = await setBudget(database, ofKey(period, { zone }), { nowMs: NOON });
    const turnMs = budget.renewsAtMs!;
    assertEquals(turnMs, periodAt(period, zone, NOON).endsAtMs);
    assertEquals(await spend(bench, caller, 10, NOON), 10);
    assertEquals(await spend(bench, caller, 1, turnMs - 1), "budget");
    // the next one was opened ahead; many gateways open it again
    await Promise.all(Array.from({ length: 8 }, () => openPeriods(database, turnMs)));
    assertEquals(await spend(bench, caller, 10, turnMs), 10);
    assertEquals(await spend(bench, caller, 1, turnMs + 1), "budget");
    await Promise.all(Array.from({ length: 8 }, () => openPeriods(database, turnMs + 1)));
    assertEquals(await spend(bench, caller, 1, turnMs + 2), "budget");
    // a clock that was set back finds the period of before spent
    assertEquals(await spend(bench, caller, 1, turnMs - 1), "budget");
    await assertClean(bench);
  }
});

Deno.test("budgets: a period that nobody opened is opened by the first that needs it", async () => {
  const { bench, database, caller, ofKey } = await scene();
  await using _bench = bench;
  await setBudget(database, ofKey("day"), { nowMs: NOON });
  const laterMs = NOON + 5 * DAY;
  assertEquals(await spend(bench, caller, 3, laterMs), "period");
  await Promise.all(
    Array.from({ length: 9 }, () => openPeriodsOfKey(database, caller.keyId, laterMs)),
  );
  assertEquals(await spend(bench, caller, 3, laterMs), 3);
  assertEquals(await used(bench, ofKey("day"), laterMs), [3, 0, 7]);
  await assertClean(bench);
});

Deno.test("budgets: a request counts in the period of its admission, whenever it grows and ends", async () => {
  const { bench, database, caller, ofKey } = await scene();
  await using _bench = bench;
  const name = ofKey("day");
  const { renewsAtMs } = await setBudget(database, name, { nowMs: NOON });
  const beforeMs = renewsAtMs! - 1_000;
  const afterMs = renewsAtMs! + 1_000;
  const stream = ask(caller, 4, beforeMs);
  assertEquals((await admit(database, stream)).credits, 4);
  assertEquals(await used(bench, name, afterMs), [0, 0, 10]);
  const grow = (wanted: number) =>
    growHold(database, { ...stream, wanted, nowMs: afterMs, admittedAtMs: beforeMs });
  assertEquals(await grow(7), 7);
  assertEquals(await grow(500), 10, "it stops at the budget of its own period");
  // released with its lease, and made again
  await database.batch([{ sql: "update holds set lease_until_ms = 0" }]);
  await reapHolds(database);
  assertEquals(await used(bench, name, beforeMs), [0, 0, 10]);
  assertEquals(await grow(9), 9);
  assertEquals(await used(bench, name, beforeMs), [0, 9, 1]);
  assertEquals(await used(bench, name, afterMs), [0, 0, 10]);
  assertEquals(await spend(bench, caller, 10, afterMs), 10);
  await settlePrice(database, { ...stream, price: 8, nowMs: afterMs, admittedAtMs: beforeMs });
  assertEquals(await used(bench, name, beforeMs), [8, 0, 2]);
  assertEquals(await used(bench, name, afterMs), [10, 0, 0]);
  await assertClean(bench);
});

Deno.test("budgets: all that apply must have room, and the decision names the one with the least left", async () => {
  const { bench, database, caller, ofKey } = await scene();
  await using _bench = bench;
  const account = { owner: "account", ownerId: caller.accountId, period: "month" } as const;
  await setBudget(database, ofKey("day", { credits: 20 }), { nowMs: NOON });
  await setBudget(database, { ...account, credits: 12 }, { nowMs: NOON });
  await setBudget(database, ofKey("life", { credits: 15 }), { nowMs: NOON });
  const first = await admit(database, ask(caller, 500, NOON));
  assertEquals([first.credits, first.budget?.id], [12, `account:${caller.accountId}:month`]);
  const second = await admit(database, ask(caller, 500, NOON));
  assertEquals([second.verdict, second.budget?.held, second.budget?.left], ["budget", 12, 0]);
  // a new key of the account has its budget from the start
  const fresh = { ...caller, keyId: await bench.key(caller.accountId) };
  assertEquals((await admit(database, ask(fresh, 1, NOON))).verdict, "budget");
  const status = await accountStatusOf(database, fresh, tierList, NOON);
  assertEquals([status.budget?.owner, status.budget?.left], ["account", 0]);
  assertEquals(
    (await budgetsOf(database, { owner: "key", ownerId: caller.keyId }, NOON)).map(
      ({ period }) => period,
    ),
    ["day", "life"],
  );
  await assertClean(bench);
});

Deno.test("budgets: one that is set in the middle of a period counts what was spent and is held since", async () => {
  const { bench, database, caller, ofKey } = await scene();
  await using _bench = bench;
  for (const [price, atMs] of [[50, NOON - 30 * DAY], [7, NOON - DAY], [2, NOON - HOUR]] as const) {
    assertEquals(await spend(bench, caller, price, atMs), price);
  }
  await admit(database, ask(caller, 3, NOON));
  const set = async (period: BudgetName["period"]) => {
    const { spent, held } = await setBudget(database, ofKey(period, { credits: 500 }), {
      nowMs: NOON,
    });
    return [spent, held];
  };
  assertEquals(await set("day"), [2, 3]);
  assertEquals(await set("week"), [9, 3]);
  assertEquals(await set("month"), [9, 3]);
  assertEquals(await set("life"), [59, 3]);
  // also when the records are pruned
  const prune = new Retention({ database, log: SILENT, now: () => NOON, days: 1, rows: 1 });
  assert(await prune.prune() >= 2);
  await assertClean(bench);
  for (const period of ["week", "month", "life"] as const) {
    await removeBudget(database, ofKey(period));
  }
  assertEquals(await set("week"), [9, 3]);
  assertEquals(await set("month"), [9, 3]);
  assertEquals(await set("life"), [59, 3]);
  await assertClean(bench);
});

Deno.test("budgets: a raise ends, for new requests and for those that grow", async () => {
  const { bench, database, caller, ofKey } = await scene();
  await using _bench = bench;
  const name = ofKey("day");
  await setBudget(database, name, { nowMs: NOON });
  const untilMs = NOON + HOUR;
  await raiseBudget(database, name, { credits: 20, untilMs, nowMs: NOON });
  assertEquals(await spend(bench, caller, 12, NOON), 12);
  const stream = ask(caller, 5, untilMs - 1);
  assertEquals((await admit(database, stream)).credits, 5);
  const grow = (nowMs: number) =>
    growHold(database, { ...stream, wanted: 500, nowMs, admittedAtMs: stream.nowMs });
  assertEquals((await admit(database, ask(caller, 1, untilMs))).verdict, "budget");
  assertEquals(await grow(untilMs), 5, "the raise is over");
  assertEquals(await grow(untilMs - 1), 18);
  // what it was admitted on it may spend
  const settled = { ...stream, price: 18, nowMs: untilMs + 9, admittedAtMs: stream.nowMs };
  assertEquals((await settlePrice(database, settled)).charged, 18);
  const budget = await budgetOf(database, name, untilMs);
  assertEquals([budget!.spent, budget!.left, budget!.raise], [30, 0, null]);
  // 0 ends it early, and a change of the budget keeps it
  await raiseBudget(database, name, { credits: 40, untilMs: NOON + 9 * HOUR, nowMs: NOON });
  await setBudget(database, { ...name, credits: 11 }, { nowMs: NOON });
  assertEquals((await budgetOf(database, name, NOON))!.left, 21);
  await raiseBudget(database, name, { credits: 0, untilMs: NOON + 9 * HOUR, nowMs: NOON });
  const ended = await budgetOf(database, name, NOON);
  assertEquals([ended!.left, ended!.raise], [0, null]);
  await assertClean(bench);
});

Deno.test("budgets: lowering one under a request does not make the request free", async () => {
  for (const how of ["lowered", "new", "removed and set", "in another zone"] as const) {
    const { bench, database, caller, ofKey } = await scene();
    await using _bench = bench;
    const name = ofKey("life", { credits: 100 });
    if (how !== "new") await setBudget(database, name, { nowMs: NOON });
    const stream = ask(caller, 60, NOON);
    await admit(database, stream);
    if (how === "removed and set") await removeBudget(database, name);
    const zone = how === "in another zone" ? "Asia/Kathmandu" : undefined;
    await setBudget(database, { ...name, credits: 0, zone }, { nowMs: NOON });
    const settled = { ...stream, price: 50, nowMs: NOON + 5, admittedAtMs: NOON };
    assertEquals((await settlePrice(database, settled)).charged, 50, how);
    assertEquals(await used(bench, name, NOON), [50, 0, 0], how);
    assertEquals((await admit(database, ask(caller, 1, NOON))).verdict, "budget", how);
    await assertClean(bench);
  }
});

Deno.test("budgets: what a request costs beyond its budget is charged, and counts in it", async () => {
  const { bench, database, caller, ofKey } = await scene("file", 100);
  await using _bench = bench;
  const name = ofKey("day");
  await setBudget(database, name, { nowMs: NOON });
  const dear = ask(caller, 10, NOON);
  await admit(database, dear);
  await settlePrice(database, { ...dear, price: 70, admittedAtMs: NOON });
  const row = await database.one(
    "select charged_credits, owed_credits, over_budget_credits from usage_records",
  );
  assertEquals(row, { charged_credits: 70, owed_credits: 0, over_budget_credits: 0 });
  assertEquals(await used(bench, name, NOON), [70, 0, 0]);
  await assertClean(bench);
  assertEquals((await admit(database, ask(caller, 1, NOON))).verdict, "budget");
  assertEquals(await removeBudget(database, name), true);
  await assertClean(bench);
  assertEquals(await spend(bench, caller, 30, NOON), 30);
});

Deno.test("budgets: nothing is lent where one applies, and setting one recalls", async () => {
  const { bench, database, caller } = await scene();
  await using _bench = bench;
  const plain = { ...caller, keyId: await bench.key(caller.accountId) };
  let number = 0;
  const borrow = (of: Caller) =>
    lend(database, {
      ...of,
      gatewayId: "gw",
      loanId: `loan_${number++}`,
      isNew: true,
      nowMs: NOON,
      leaseMs: 60_000,
      tierList,
      leastCredits: 1,
      leastPlaces: 1,
    });
  assert(await borrow(plain) !== undefined);
  const requestId = newRequestId(NOON); // admitted from the loan
  const ofKey = { owner: "key", ownerId: caller.keyId, period: "day" } as const;
  const setting = setBudget(database, { ...ofKey, credits: 30 }, { nowMs: NOON });
  // its gateway returns the loan, with a request of the key in flight
  await until(
    async () => await database.one("select 1 from loans where recalled = 1") !== undefined,
    {
      what: "the recall of the loan",
    },
  );
  await returnLoan(database, {
    accountId: caller.accountId,
    gatewayId: "gw",
    loanId: "loan_0",
    leaseMs: 60_000,
    requests: [{ requestId, keyId: caller.keyId, credits: 25, admittedAtMs: NOON }],
  });
  assertEquals((await setting).held, 25, "it counts before the budget is said to be set");
  assertEquals((await admit(database, ask(caller, 9, NOON))).credits, 5);
  assertEquals(await borrow(caller), undefined, "the key has a budget");
  assert(await borrow(plain) !== undefined, "a key's own budget concerns no other key");
  assertEquals(await borrow(caller), undefined);
  const account = { owner: "account", ownerId: caller.accountId, period: "life" } as const;
  await setBudget(database, { ...account, credits: 500 }, { nowMs: NOON, patienceMs: 0 });
  assertEquals(await borrow(plain), undefined);
  // nor to a key without a budget, in an account of which another key has a team's
  await removeBudget(database, account);
  const { teamId } = await bench.team([caller.accountId]);
  const team = { owner: "team", ownerId: teamId, period: "life" } as const;
  await setBudget(database, { ...team, credits: 500 }, { nowMs: NOON, patienceMs: 0 });
  assertEquals(await borrow(plain), undefined);
  assertEquals((await database.one("select count(*) as n from loans"))!.n, 0);
  await removeBudget(database, team);
  assert(await borrow(plain) !== undefined);
  await assertClean(bench);
});

Deno.test("budgets: a key of a team or a member has their budgets from the moment it is made", async () => {
  const { bench, database, caller } = await scene();
  await using _bench = bench;
  const other = await bench.account();
  await bench.grant(other.accountId, 100);
  const { teamId, callers: [first, colleague], key } = await bench.team([
    caller.accountId,
    other.accountId,
  ]);
  const team = { owner: "team", ownerId: teamId, period: "week" } as const;
  const member = {
    owner: "member",
    ownerId: `${teamId}:${caller.accountId}`,
    period: "day",
  } as const;
  assertEquals(await spend(bench, first!, 1, NOON), 1, "it counts, once there are budgets");
  await setBudget(database, { ...team, credits: 20 }, { nowMs: NOON });
  await setBudget(database, { ...member, credits: 6 }, { nowMs: NOON });
  assertEquals(await spend(bench, first!, 3, NOON), 3);
  const second = { ...caller, keyId: await key(caller.accountId) };
  assertEquals(
    await spend(bench, caller, 9, NOON),
    9,
    "a key of the same account, outside of the team",
  );
  assertEquals(await spend(bench, second, 2, NOON), 2);
  assertEquals(await used(bench, team, NOON), [6, 0, 14]);
  assertEquals(await used(bench, member, NOON), [6, 0, 0]);
  assertEquals(await spend(bench, second, 1, NOON), "budget");
  assertEquals(await spend(bench, colleague!, 14, NOON), 14);
  assertEquals(await spend(bench, colleague!, 1, NOON), "budget");
  await assertClean(bench);
});

Deno.test("budgets: one that is changed keeps the periods that it has had", async () => {
  const { bench, database, caller, ofKey } = await scene();
  await using _bench = bench;
  const periods = () =>
    database.all(
      "select starts_at_ms, ends_at_ms, spent, held from budget_periods order by starts_at_ms",
    );
  await setBudget(database, ofKey("day"), { nowMs: NOON - DAY });
  assertEquals(await spend(bench, caller, 4, NOON - DAY), 4);
  await openPeriodsOfKey(database, caller.keyId, NOON);
  assertEquals(await spend(bench, caller, 3, NOON), 3);
  const before = await periods();
  assertEquals(before.slice(0, 2).map(({ spent }) => spent), [4, 3]);
  for (const zone of [undefined, "UTC"]) {
    await setBudget(database, ofKey("day", { credits: 20, zone }), { nowMs: NOON });
    assertEquals(await periods(), before);
  }
  await setBudget(database, ofKey("day", { zone: "Asia/Kathmandu" }), { nowMs: NOON });
  assertEquals((await periods()).some(({ spent }) => spent === 4), false);
  await assertClean(bench);
});

Deno.test("budgets: those on several keys are listed by owner, its ID and period; on no key there are none", async () => {
  const { bench, database, caller } = await scene();
  await using _bench = bench;
  const { accountId } = caller;
  const keyIds = [caller.keyId];
  while (keyIds.length < 5) keyIds.push(await bench.key(accountId));
  const names = [
    ...keyIds.toSorted().flatMap((ownerId) =>
      ["day", "month"].map((period) => ["key", ownerId, period])
    ),
    ...["week", "life"].map((period) => ["account", accountId, period]),
  ] as [BudgetName["owner"], string, BudgetName["period"]][];
  for (const [owner, ownerId, period] of names.toReversed()) {
    await setBudget(database, { owner, ownerId, period, credits: 10 }, { nowMs: NOON });
  }
  const listed = (await budgetsOn(database, keyIds, NOON))
    .map(({ owner, ownerId, period }) => [owner, ownerId, period]);
  assertEquals(listed, names);
  assertEquals(await budgetsOn(database, [], NOON), []);
});

Deno.test("budgets: periods that are open are not written again", async () => {
  const { bench, ofKey } = await scene();
  await using _bench = bench;
  const uses: string[] = [];
  const database = guardedDatabase(bench.database, (use) => uses.push(use));
  for (const period of ["day", "life"] as const) {
    await setBudget(database, ofKey(period), { nowMs: NOON });
  }
  for (
    const [nowMs, isWritten] of [[NOON, false], [NOON + DAY, true], [NOON + DAY, false]] as const
  ) {
    uses.length = 0;
    await openPeriods(database, nowMs);
    assertEquals(uses.includes("batch"), isWritten);
  }
});

Deno.test("budgets: in another time zone the periods begin again, with what was spent in them", async () => {
  const { bench, database, caller, ofKey } = await scene();
  await using _bench = bench;
  await setBudget(database, ofKey("day"), { nowMs: NOON });
  await spend(bench, caller, 4, NOON - 13 * HOUR); // yesterday, in UTC
  await spend(bench, caller, 2, NOON);
  assertEquals(await used(bench, ofKey("day"), NOON), [2, 0, 8]);
  const zone = "America/New_York"; // today began at 5 in the morning
  const there = await setBudget(database, ofKey("day", { zone }), { nowMs: NOON });
  assertEquals([there.spent, there.zone], [2, zone]);
  const here = await setBudget(database, ofKey("day", { zone: "Pacific/Kiritimati" }), {
    nowMs: NOON,
  });
  assertEquals([here.spent, here.startsAtMs], [2, Date.UTC(2030, 0, 2, 10)]);
  // left out, it stays
  const kept = await setBudget(database, ofKey("day", { credits: 99 }), { nowMs: NOON });
  assertEquals([kept.zone, kept.credits], ["Pacific/Kiritimati", 99]);
  await assertClean(bench);
});

Deno.test("budgets: the clock jumps ahead and back, budgets are set, moved and removed: the audit is clean", async () => {
  const { bench, database, caller, ofKey } = await scene();
  await using _bench = bench;
  const seed = testSeed();
  const random = new Random(seed);
  const zones = ["UTC", "America/New_York", "Pacific/Kiritimati", "Europe/Berlin"];
  await setBudget(database, ofKey("day"), { nowMs: NOON });
  for (let round = 0; round < sized(20, 400); round++) {
    const nowMs = NOON + random.pick([0, 0, 1, 400]) * DAY;
    const period = random.pick(["day", "week", "month"] as const);
    const choice = random.next();
    if (choice < 0.6) {
      await openPeriods(database, nowMs);
      await spend(bench, caller, 1, nowMs);
    } else if (choice < 0.9) {
      await setBudget(database, ofKey(period, { zone: random.pick(zones), credits: 9_999 }), {
        nowMs,
      });
    } else await removeBudget(database, ofKey(period));
    const { mismatches } = await audit(database);
    assertEquals(mismatches, [], `seed ${seed}, round ${round}`);
  }
});

Deno.test("budgets: what makes no sense is rejected, and changes nothing", async () => {
  const { bench, database, ofKey } = await scene();
  await using _bench = bench;
  const marks = Array.from({ length: 11 }, (_, at) => at + 1);
  for (
    const [wrong, message] of [
      [{ zone: "Mars/Olympus" }, 'Unknown time zone "Mars/Olympus": use a name'],
      [{ credits: -1 }, "Invalid credits -1"],
      [{ credits: 0.5 }, "Invalid credits 0.5"],
      [{ credits: 1e15 + 1 }, "up to 10^15"],
      [{ credits: 2 ** 60 }, "up to 10^15"],
      [{ marks: [0] }, "Invalid marks"],
      [{ marks: [50.5] }, "Invalid marks"],
      [{ marks: [50, 1_001] }, "Invalid marks"],
      [{ marks }, "Invalid marks"],
    ] as const
  ) {
    const terms = ofKey("day", wrong);
    await assertRejects(() => setBudget(database, terms, { nowMs: NOON }), RangeError, message);
  }
  assertEquals(
    await raiseBudget(database, ofKey("day"), { credits: 1, untilMs: 1, nowMs: 0 }),
    undefined,
  );
  assertEquals(await removeBudget(database, ofKey("day")), false);
  assertEquals((await database.one("select count(*) as n from budgets"))!.n, 0);
  // the last ones that make sense
  for (
    const right of [{ credits: 0 }, { credits: 1e15 }, { marks: marks.slice(1) }, {
      marks: [1, 1_000],
    }, { marks: [] }]
  ) {
    const { credits, marks } = await setBudget(database, ofKey("day", right), { nowMs: NOON });
    assertEquals({ credits, marks }, { credits, marks, ...right });
  }
  assertEquals(await removeBudget(database, ofKey("day")), true);
  await assertClean(bench);
});

Deno.test("budgets: whatever the rules of a time zone become, each instant is in one period", async () => {
  const { bench, database, caller, ofKey } = await scene();
  await using _bench = bench;
  await setBudget(database, ofKey("day"), { nowMs: NOON });
  // a gateway with other rules wants an hour more, and less
  const day = periodAt("day", "UTC", NOON + 2 * DAY);
  for (const hours of [-1, 1]) {
    await database.batch([{
      sql: `insert into period_openings (budget_id, at_ms, starts_at_ms, ends_at_ms)
        values (?, ?, ?, ?)`,
      args: [
        `key:${caller.keyId}:day`,
        NOON + 2 * DAY,
        day.startsAtMs - HOUR,
        day.endsAtMs + hours * HOUR,
      ],
    }]);
  }
  await openPeriods(database, NOON + 3 * DAY);
  const gapMs = day.endsAtMs - 30 * 60_000;
  assertEquals(await spend(bench, caller, 1, gapMs), "period");
  await openPeriodsOfKey(database, caller.keyId, gapMs);
  assertEquals(await spend(bench, caller, 1, gapMs), 1);
  const rows = await database.all(
    "select starts_at_ms, ends_at_ms from budget_periods order by starts_at_ms",
  );
  rows.slice(1).forEach((row, at) => assertEquals(row.starts_at_ms, rows[at]!.ends_at_ms));
  await assertClean(bench);
});
