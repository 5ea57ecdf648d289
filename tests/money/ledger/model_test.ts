import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { textsOf } from "../../../src/ground/sql/mod.ts";
import {
  admit,
  audit,
  BUDGET_PERIODS,
  budgetId,
  budgetOf,
  creditsOf,
  expireLots,
  growHold,
  lapsedLoans,
  lend,
  loanWriteOff,
  openPeriodsOfKey,
  raiseBudget,
  reapHolds,
  releaseHoldsOf,
  releaseLapsedLoans,
  releaseLoansOf,
  removeBudget,
  renewHolds,
  renewLoans,
  returnLoan,
  setBudget,
  takeBack,
  TierList,
  writeOffLoans,
} from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { ledgerBench, possible, settlePrice } from "../../fake/ledger.ts";
import { isOnPostgres } from "../../fake/postgres.ts";
import { unlockedWrites, watchLocks } from "../../fake/lock_watch.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { isProof, sized } from "../../tier.ts";
import { LedgerModel, type ModelBudget, type ModelEnd, periodName } from "./model.ts";

const TIERS = [
  { above: 0, minute: 6, hour: 40, day: 200, account: { minute: 8 } },
  { above: 60, minute: 15, hour: 90, day: 300, account: { hour: 140, day: 500 } },
];
/** By how much leases of loans are aged at once: more than a minute, less than an hour; a few seconds of the walk tell nothing. */
const AGED_MS = 3_000_000;
const NEVER = Number.MAX_SAFE_INTEGER;
/** Of more, nearly every request would have one. */
const MAX_BUDGETS = 3;
const NO_RAISE = { credits: 0, untilMs: 0 };
const ROUTES = ["svc-a", "svc-b", "other"];
/** What some credits are bound to. */
const BINDINGS = [["svc-a"], ["svc-*"], ["other", "svc-b"], ["*"]];
const ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"];

/** Steps against the embedded file and against a server; the model is the same. */
const STEPS = {
  file: sized(250, 10_000),
  behind: sized(120, 5_000),
  server: sized(40, 600),
  postgres: sized(100, 2_500),
  locks: sized(250, 2_500),
} as const;
/** Where a walk of the proofs ends that has not met every verdict by then; the gate's walks are too short to ask for it. */
const MAX_STEPS = 10_000;
/** Walks that are tried for one that meets every verdict. */
const WALKS = 4;

// what is locked is watched in a file
const kinds = (["file", "behind", "server", "postgres", "locks"] as const).filter((kind) =>
  kind !== "locks" || !isOnPostgres
);

for (const kind of possible(kinds)) {
  // Proves P1, P4. With `locks`, also that decisions write nothing that they have not locked.
  Deno.test(`the ledger agrees with its model (${kind}, ${STEPS[kind]} steps)`, async () => {
    const seed = testSeed();
    try {
      let hasMetAll = false;
      for (let number = 0; number < WALKS && !hasMetAll; number++) {
        hasMetAll = await walk(kind, seed + number);
      }
      assert(hasMetAll, `no walk of ${WALKS} met every verdict`);
    } catch (error) {
      throw new Error(`SLUICE_TEST_SEED=${seed}`, { cause: error });
    }
  });
}

/** @returns whether it met every verdict; a walk that never meets a refusal proves nothing of it. */
async function walk(kind: keyof typeof STEPS, seed: number): Promise<boolean> {
  const random = new Random(seed);
  const behind = kind === "behind";
  await using bench = await ledgerBench(kind === "server" || kind === "postgres" ? kind : "file", {
    behind,
  });
  if (kind === "locks") await watchLocks(bench.database);
  const tierList = new TierList(TIERS);
  await bench.database.batch(tierList.statements);
  const model = new LedgerModel(TIERS);

  const callers: { accountId: string; keyId: string }[] = [];
  for (let index = 0; index < 3; index++) {
    const budget = index === 0 ? 40 : undefined;
    const made = await bench.account(budget === undefined ? {} : { budget });
    callers.push(made, { accountId: made.accountId, keyId: await bench.key(made.accountId) });
    if (budget !== undefined) {
      const keys = new Set([made.keyId]);
      const name = { owner: "key", ownerId: made.keyId, period: "life" } as const;
      model.budgets.set(budgetId(name), {
        ...name,
        zone: "UTC",
        keys,
        credits: budget,
        raise: NO_RAISE,
        opened: new Set(["life"]),
      });
    }
  }
  /** Two keys of two accounts. */
  const { teamId, callers: shared } = await bench.team([
    callers[1]!.accountId,
    callers[2]!.accountId,
  ]);
  callers.splice(1, 2, ...shared);
  for (const { keyId, accountId } of callers) model.accountOf.set(keyId, accountId);
  const names = callers.slice(0, 4).flatMap(({ keyId, accountId }) => [
    { owner: "key", ownerId: keyId, keys: [keyId] } as const,
    {
      owner: "account",
      ownerId: accountId,
      keys: callers.filter((one) => one.accountId === accountId).map(({ keyId }) => keyId),
    } as const,
    { owner: "team", ownerId: teamId, keys: shared.map(({ keyId }) => keyId) } as const,
    {
      owner: "member",
      ownerId: `${teamId}:${accountId}`,
      keys: shared.filter((one) => one.accountId === accountId).map(({ keyId }) => keyId),
    } as const,
  ]).filter(({ keys }) => keys.length > 0);
  const anyName = () => ({
    ...random.pick(names),
    period: random.pick(["day", "week", "month", "life"] as const),
  });
  const gateways = ["gw_a", "gw_b"];
  let nowMs = 1_790_000_000_000;
  const running: {
    requestId: string;
    accountId: string;
    keyId: string;
    gatewayId: string;
    leaseMs: number;
    nowMs: number;
    route: string;
    /** Credits of a loan that it was admitted on, and which. */
    lent?: number;
    loanId?: string;
  }[] = [];
  const ended: typeof running = [];
  const verdicts = {
    admitted: 0,
    period: 0,
    recall: 0,
    rate: 0,
    uncollected: 0,
    budget: 0,
    credits: 0,
    unreserved: 0,
  };
  const takenBack = new Map<string, number>();

  const ask = () => {
    const caller = random.pick(callers);
    const least = random.integer(1, 5);
    const wanted = least + random.integer(0, 20);
    return {
      ...caller,
      requestId: newRequestId(nowMs),
      gatewayId: random.pick(gateways),
      least,
      wanted,
      most: random.pick([undefined, wanted + random.integer(0, 100)]),
      reserved: random.pick([undefined, 0, Math.min(wanted, 5)]),
      nowMs,
      leaseMs: 60_000,
      tierListId: tierList.id,
      mayRecall: random.next() < 0.7,
      route: random.pick(ROUTES),
    };
  };
  /** What was admitted from a loan and is not settled. */
  const drawn = (loan: string) =>
    running.filter((one) => one.lent !== undefined && one.loanId === loan);
  const end = (one: typeof running[number], price: number): ModelEnd => ({
    ...one,
    price,
    nowMs,
    lent: one.lent === undefined ? undefined : { loanId: one.loanId!, credits: one.lent },
    admittedAtMs: one.nowMs,
  });
  let settledTogether = 0;
  let loans = 0;
  let steps = 0;
  /** Loans that were written off. */
  let writtenOff = 0;
  /** Loans of a key with budgets that were made or renewed. */
  let lentByKey = 0;
  const isLapsed = ({ lapsedMs }: { lapsedMs: number }) => lapsedMs > 0;

  const actions: Record<string, () => Promise<void>> = {
    async grant() {
      const { accountId } = random.pick(callers);
      const credits = random.integer(1, 60);
      const expires = random.next() < 0.5 ? null : nowMs + random.integer(1, 200_000);
      // few are bound, as nothing is lent of an account with bound credits
      const models = random.next() < 0.15 ? random.pick(BINDINGS) : undefined;
      const lotId = await bench.grant(accountId, credits, expires, nowMs, models);
      model.grant(accountId, lotId, credits, expires ?? NEVER, nowMs, models);
    },
    async takeBack() {
      const { accountId } = random.pick(callers);
      const lots = [...model.lots.values()].flat();
      if (lots.length === 0) return;
      // at times another account's lot, one that is used up, or a request that was made before
      const own = model.lots.get(accountId) ?? [];
      const { id: lotId } = random.pick(own.length > 0 && random.next() < 0.9 ? own : lots);
      const credits = random.next() < 0.5 ? undefined : random.integer(1, 30);
      const id = `take_back_${takenBack.size}`;
      const request = {
        id,
        accountId,
        lotId,
        credits,
        note: "why",
        atMs: nowMs,
        patienceMs: 0,
      };
      const taken = model.takeBack(accountId, lotId, credits ?? NEVER, nowMs);
      assertEquals((await takeBack(bench.database, request))?.credits ?? 0, taken);
      if (taken === 0) return;
      takenBack.set(id, taken);
      const again = await takeBack(bench.database, { ...request, credits: 1 });
      assertEquals([again?.credits, again?.isRepeated], [taken, true]);
    },
    async admit() {
      const asks = Array.from({ length: random.integer(1, 6) }, ask);
      const decisions = await Promise.all(asks.map((one) => admit(bench.database, one)));
      const lacking: string[] = [];
      asks.forEach((one, at) => {
        const verdict = model.admit(one);
        const decision = decisions[at]!;
        assertEquals(decision.verdict, verdict);
        verdicts[verdict]++;
        if (verdict === "period") lacking.push(one.keyId);
        if (verdict !== "admitted") return;
        const { credits, asked } = model.holds.get(one.requestId)!;
        assertEquals([decision.credits, decision.asked], [credits, asked]);
        running.push(one);
      });
      for (const keyId of lacking) {
        await openPeriodsOfKey(bench.database, keyId, nowMs);
        for (const budget of model.budgetsOf(keyId)) model.open(budget, nowMs);
      }
    },
    async openPeriods() {
      const { keyId } = random.pick(callers);
      await openPeriodsOfKey(bench.database, keyId, nowMs);
      for (const budget of model.budgetsOf(keyId)) model.open(budget, nowMs);
    },
    async setBudget() {
      const { keys, ...name } = anyName();
      // now and then more than is ever spent, so that something is left to lend
      const credits = random.pick([random.integer(0, 200), 1_000, 10_000]);
      const zone = name.period === "life" ? "UTC" : random.pick(ZONES);
      const id = budgetId(name);
      const before = model.budgets.get(id);
      if (before === undefined && model.budgets.size >= MAX_BUDGETS) return;
      const set = await setBudget(bench.database, { ...name, credits, zone }, {
        nowMs,
        patienceMs: 0,
      });
      if (before !== undefined && (before.credits > credits || before.zone !== zone)) {
        for (const loan of model.loans.values()) {
          if (before.keys.has(loan.keyId)) loan.recalled = true;
        }
      }
      const fresh = keys.filter((keyId) => before?.keys.has(keyId) !== true);
      model.recall(fresh.map((keyId) => model.accountOf.get(keyId)!));
      const budget: ModelBudget = {
        ...name,
        zone,
        keys: new Set([...before?.keys ?? [], ...keys]),
        credits,
        raise: before?.raise ?? NO_RAISE,
        opened: before?.zone === zone ? before.opened : new Set(),
      };
      model.budgets.set(id, budget);
      model.open(budget, nowMs);
      const { spent, held } = model.used(budget, periodName(budget, nowMs));
      assertEquals([set.credits, set.spent, set.held], [credits, spent, held], id);
    },
    async raiseBudget() {
      const [id, budget] = random.pick([...model.budgets, ["none", undefined]] as const);
      if (budget === undefined) return;
      const raise = {
        credits: random.pick([0, 5, 30]),
        untilMs: nowMs + random.integer(-1_000, 60_000),
      };
      const [owner, ...rest] = id.split(":");
      const name = {
        owner: budget.owner,
        ownerId: rest.slice(0, -1).join(":"),
        period: budget.period,
      };
      assertEquals(owner, budget.owner);
      await raiseBudget(bench.database, name, { ...raise, nowMs });
      model.open(budget, nowMs);
      budget.raise = raise;
    },
    async removeBudget() {
      const { keys: _keys, ...any } = anyName();
      // mostly one that there is
      const name =
        names.flatMap(({ owner, ownerId }) =>
          BUDGET_PERIODS.map((period) => ({ owner, ownerId, period }))
        ).find((one) => model.budgets.has(budgetId(one)) && random.next() < 0.5) ?? any;
      assertEquals(await removeBudget(bench.database, name), model.budgets.delete(budgetId(name)));
    },
    async lend() {
      const own = random.pick(gateways);
      const byKey = random.next() < 0.5;
      const budgeted = callers.filter(({ keyId }) => model.budgetsOf(keyId).length > 0);
      const caller = random.pick(byKey && budgeted.length > 0 ? budgeted : callers);
      const isNew = random.next() < (byKey ? 0.7 : 0.4);
      const ofKey = byKey ? caller.keyId : "";
      const known = model.loan(caller.accountId, own, ofKey);
      const isFresh = isNew && (known === undefined || random.next() < 0.8);
      const loanId = isFresh ? `loan_${loans++}` : known?.loanId ?? "loan_gone";
      const request = {
        ...caller,
        gatewayId: own,
        loanId,
        isNew,
        byKey,
        leastCredits: random.integer(0, 10),
        leastPlaces: random.integer(0, 2),
        nowMs,
      };
      const { accountId, gatewayId } = request;
      const before = known?.loanId === loanId ? known.credits : 0;
      model.lend(request);
      const loan = await lend(bench.database, { ...request, leaseMs: 60_000, tierList });
      const made = model.loan(accountId, gatewayId, ofKey);
      // a key with a budget is not covered by a loan that there is
      const isCovered = byKey || model.budgetsOf(request.keyId).length === 0;
      if (byKey && made?.loanId === loanId) lentByKey++;
      const expected = made?.loanId === loanId && isCovered ? made : undefined;
      assertEquals(loan?.places, expected?.places);
      assertEquals(loan?.added, expected && expected.credits - before);
    },
    draw() {
      // as a gateway does: from what it was lent and has not drawn yet
      const caller = random.pick(callers);
      const gatewayId = random.pick(gateways);
      const loan = model.loan(caller.accountId, gatewayId, random.pick(["", caller.keyId]));
      if (loan === undefined) return Promise.resolve();
      // what is lent of a budget is of the periods in which it was
      const isOver = (one: ModelBudget) =>
        periodName(one, loan.admittedAtMs) !== periodName(one, nowMs);
      if (loan.keyId !== "" && model.budgetsOf(loan.keyId).some(isOver)) return Promise.resolve();
      const open = drawn(loan.loanId).reduce((sum, { lent }) => sum + lent!, 0);
      const lent = Math.min(random.integer(1, 12), loan.credits - open);
      if (lent <= 0) return Promise.resolve();
      const requestId = newRequestId(nowMs);
      const { loanId } = loan;
      const route = random.pick(ROUTES);
      running.push({
        ...caller,
        requestId,
        gatewayId,
        leaseMs: 60_000,
        nowMs,
        lent,
        loanId,
        route,
      });
      return Promise.resolve();
    },
    async returnLoan() {
      const { accountId, keyId } = random.pick(callers);
      const gatewayId = random.pick(gateways);
      // at times one that has ended
      const loanId = random.next() < 0.2
        ? `loan_${random.integer(0, loans)}`
        : model.loan(accountId, gatewayId, random.pick(["", keyId]))?.loanId ?? "loan_gone";
      const requests = drawn(loanId).filter((one) => one.accountId === accountId).map((one) => ({
        ...one,
        credits: one.lent!,
        admittedAtMs: one.nowMs,
      }));
      const returned = { accountId, gatewayId, loanId, leaseMs: 60_000, requests };
      await returnLoan(bench.database, returned);
      if (random.next() < 0.2) await returnLoan(bench.database, returned);
      model.returnLoan(returned);
      // a settlement that was on its way says that the request was lent, as it was
      for (const one of running) {
        if (requests.some(({ requestId }) => requestId === one.requestId) && random.next() < 0.7) {
          delete one.lent;
        }
      }
    },
    async grow() {
      const held = running.filter(({ lent }) => lent === undefined);
      if (held.length === 0) return;
      const one = random.pick(held);
      const more = { ...one, wanted: random.integer(1, 40), nowMs, admittedAtMs: one.nowMs };
      assertEquals(await growHold(bench.database, more), model.grow(more));
    },
    async settle() {
      const ending = running.splice(0, random.integer(0, 8));
      const ends = ending.map((one) => end(one, random.pick([0, 1, 1, 3, 8, 30])));
      if (behind) {
        for (const one of ends) {
          assertEquals(await settlePrice(bench.database, one), model.settle(one));
        }
        ended.push(...ending);
        return;
      }
      const outcomes = await Promise.all(ends.map((one) => settlePrice(bench.database, one)));
      const expected = model.settleAll(ends, { leavesBudgets: kind === "postgres" });
      assertEquals(
        new Map(ends.map(({ requestId }, at) => [requestId, outcomes[at]])),
        new Map(ends.map(({ requestId }) => [requestId, expected.get(requestId)])),
      );
      settledTogether += ends.filter(({ lent, price }) => lent && price <= lent.credits).length;
      ended.push(...ending);
    },
    async settleAgain() {
      if (ended.length === 0) return;
      const one = random.pick(ended);
      const first = model.settled.get(one.requestId)!;
      assertEquals(await settlePrice(bench.database, end(one, 99)), first);
    },
    async disconnect() {
      const one = running.shift();
      if (one === undefined) return;
      const price = random.integer(0, 4);
      const ending = "client_left" as const;
      const outcome = await settlePrice(bench.database, { ...end(one, price), ending });
      assertEquals(outcome, model.settle(end(one, price)));
      ended.push(one);
    },
    async expire() {
      await expireLots(bench.database, nowMs);
      for (const { accountId } of callers) model.expire(accountId, nowMs);
    },
    async leases() {
      // as if a lease's time had passed for some of them
      const aged = running.filter(() => random.next() < 0.5).map(({ requestId }) => requestId);
      await bench.database.batch([{
        sql: `update holds set lease_until_ms = lease_until_ms - 60001
          where request_id in ${textsOf()}`,
        args: [JSON.stringify(aged)],
      }]);
      const kept = running.filter(() => random.next() < 0.7).map(({ requestId }) => requestId);
      await renewHolds(bench.database, kept, 60_000);
      await reapHolds(bench.database);
      for (const [id, hold] of model.holds) {
        hold.stale = (hold.stale || aged.includes(id)) && !kept.includes(id);
      }
      model.reapHolds();
    },
    async loanLeases() {
      const [agedGateway, keptGateway] = [random.pick(gateways), random.pick(gateways)];
      await bench.database.batch([{
        sql: "update loans set lease_until_ms = lease_until_ms - ? where gateway_id = ?",
        args: [AGED_MS, agedGateway],
      }]);
      for (const loan of model.loans.values()) {
        if (loan.gatewayId === agedGateway) loan.lapsedMs += AGED_MS - (loan.lapsedMs ? 0 : 60_000);
      }
      const renewed = await renewLoans(bench.database, keptGateway, 60_000);
      assertEquals(
        renewed.map(({ loanId, isRenewed }) => [loanId, isRenewed]).toSorted(),
        [...model.loans.values()].filter(({ gatewayId }) => gatewayId === keptGateway)
          .map(({ loanId, lapsedMs }) => [loanId, lapsedMs === 0]).toSorted(),
        "a lease that has ended is not renewed",
      );
      const lapsed = (await lapsedLoans(bench.database)).map(({ loanId }) => loanId);
      model.freePlaces();
      assertEquals(
        new Set(lapsed),
        new Set(
          [...model.loans.values()].filter(isLapsed).map(({ loanId }) => loanId),
        ),
      );
    },
    async releaseLapsed() {
      if (random.next() < 0.5) return;
      const gatewayId = random.pick(gateways);
      const over = (await lapsedLoans(bench.database)).filter((one) => one.gatewayId === gatewayId);
      model.freePlaces();
      await releaseLapsedLoans(bench.database, over);
      model.releaseLoans((loan) => loan.gatewayId === gatewayId && isLapsed(loan));
    },
    async writeOff() {
      const gatewayId = random.pick(gateways);
      const id = `write_off_${steps++}`;
      await writeOffLoans(bench.database, { id, gatewayId, note: "why", atMs: Date.now() });
      const { loans, accounts, credits } = model.releaseLoans((loan) =>
        loan.gatewayId === gatewayId && isLapsed(loan)
      );
      const found = await loanWriteOff(bench.database, id);
      assertEquals([found?.accounts ?? 0, found?.credits ?? 0], [accounts, credits]);
      writtenOff += loans;
    },
    async restart() {
      if (random.next() < 0.9) return;
      const gatewayId = random.pick(gateways);
      await bench.reopen();
      await releaseHoldsOf(bench.database, gatewayId);
      await releaseLoansOf(bench.database, gatewayId);
      model.releaseOf(gatewayId);
    },
    clock() {
      // mostly on, now and then to another day or back: windows must find their counts again
      const chance = random.next();
      nowMs += chance < 0.1
        ? -random.integer(0, 90_000)
        : random.integer(0, chance < 0.15 ? 3 * 86_400_000 : 9_000);
      return Promise.resolve();
    },
  };
  const often = [
    ...["admit", "admit", "settle", "settle", "grow", "clock", "lend", "draw", "draw"],
    ...Object.keys(actions),
  ];

  const hasMetAll = () =>
    kind !== "file" || !isProof ||
    (takenBack.size >= 5 && settledTogether >= 12 && writtenOff >= 5 && lentByKey >= 20 &&
      !Object.values(verdicts).includes(0));

  for (let step = 0; step < STEPS[kind] || !hasMetAll(); step++) {
    if (step === MAX_STEPS) return false;
    await actions[random.pick(often)]!();
    if (step % 100 !== 0) continue;
    for (const { accountId } of callers) {
      model.expire(accountId, nowMs);
      const credits = await creditsOf(bench.database, accountId, nowMs);
      assertEquals(credits.balance, model.balance(accountId));
      assertEquals(credits.held, model.heldByRequests(accountId));
      assertEquals(
        credits.lots.map(({ id, remaining }) => [id, remaining]).toSorted(),
        model.lots.get(accountId)!.filter(({ remaining }) => remaining > 0)
          .map(({ id, remaining }) => [id, remaining]).toSorted(),
      );
    }
    for (const [id, budget] of model.budgets) {
      const ownerId = id.slice(budget.owner.length + 1, -budget.period.length - 1);
      const found = await budgetOf(bench.database, { ...budget, ownerId }, nowMs);
      model.open(budget, nowMs);
      const { spent, held } = model.used(budget, periodName(budget, nowMs));
      assertEquals([found?.credits, found?.spent, found?.held], [budget.credits, spent, held], id);
    }
    const { mismatches } = await audit(bench.database);
    if (kind === "locks") assertEquals(await unlockedWrites(bench.database), []);
    assertEquals(mismatches.filter(({ noun }) => kind !== "locks" || noun !== "schema"), []);
  }
  return true;
}
