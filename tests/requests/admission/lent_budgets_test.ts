/** Budgets that are lent: spent while the database is away, by several gateways, and never exceeded. */

import type { Caller } from "../../../src/people/accounts/mod.ts";
import { Admission } from "../../../src/requests/admission/mod.ts";
import { type Route } from "../../../src/settings/catalog/mod.ts";
import { type Database, DatabaseError } from "../../../src/ground/database/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { audit, budgetOf, setBudget, TierList } from "../../../src/money/ledger/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { type LedgerBench, ledgerBench, settlePrice } from "../../fake/ledger.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { tokenRoute } from "../../fake/routes.ts";
import { until } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

const LEASE_MS = 60_000;
const PATIENCE_MS = 600_000;
const NOON = Date.UTC(2030, 0, 1, 12);
const DAY_MS = 86_400_000;
const tierList = new TierList([{ above: 0, minute: 1e6, hour: 1e6, day: 1e6 }]);

interface Identity {
  readonly accountId: string;
  readonly keyId: string;
}

/** A gateway at a server that others share, which it may not reach. What it settles meanwhile, it keeps. */
class Gateway implements AsyncDisposable {
  readonly #bench: LedgerBench;
  readonly #admission: Admission;
  readonly #route: Route;
  readonly #clock: { nowMs: number; tick: number };
  readonly #kept: Parameters<typeof settlePrice>[1][] = [];
  isAway = false;
  /** What its clients were told that they paid. */
  sold = 0;
  /** The balance that its last reply named. */
  balance = 0;

  constructor(
    bench: LedgerBench,
    id: string,
    route: Route,
    clock: { nowMs: number; tick: number },
  ) {
    this.#bench = bench;
    this.#route = route;
    this.#clock = clock;
    const isAway = () => this.isAway;
    const database: Database = {
      ...guardedDatabase(bench.database, () => {
        if (isAway()) throw new DatabaseError("SLUICE_SERVER", "away", { outcomeUnknown: true });
      }),
      get outbox() {
        return { isUsable: true, kept: 0, isDetached: isAway(), isShared: true };
      },
    };
    this.#admission = new Admission({
      database,
      tierList,
      gatewayId: id,
      leaseMs: LEASE_MS,
      patienceMs: PATIENCE_MS,
      log: SILENT,
      now: () => clock.nowMs,
      monotonicNow: () => clock.tick,
    });
  }

  async start(): Promise<this> {
    await this.#admission.start();
    return this;
  }

  /** Sends a request; returns whether it was admitted from a loan, and undefined if it was not admitted. */
  async request(caller: Identity, credits: number): Promise<boolean | undefined> {
    const requestId = newRequestId(this.#clock.nowMs);
    const admitted = await this.#admission.admit({
      requestId,
      caller: { ...caller, models: null, hasBudget: true, atOnce: null } as unknown as Caller,
      route: this.#route,
      stream: false,
      inputTokens: 0,
      permittedOutput: credits,
      choices: 1,
    }, ({ balance }) => this.balance = balance).catch((error) => {
      if (error instanceof Refusal || error instanceof DatabaseError) return undefined;
      throw error;
    });
    if (admitted === undefined) return undefined;
    const { hold } = admitted;
    const price = Math.min(credits, hold.credits);
    const { lent, admittedAtMs } = hold;
    const end = {
      ...caller,
      requestId,
      price,
      nowMs: this.#clock.nowMs,
      admittedAtMs,
      lent,
    };
    // what no loan covers is settled at the database; while that is away its client is told that it failed
    if (this.isAway && lent === undefined) return hold.end(), undefined;
    hold.charge(price);
    if (this.isAway) this.#kept.push(end);
    else assertEquals((await settlePrice(this.#bench.database, end)).charged, price);
    hold.end({ charged: price, balance: undefined, priceCredits: price });
    this.sold += price;
    return lent !== undefined;
  }

  /** Reaches the database again: what was kept goes first. */
  async comeBack(): Promise<void> {
    for (const end of this.#kept.splice(0)) {
      assertEquals((await settlePrice(this.#bench.database, end)).charged, end.price);
    }
    this.isAway = false;
  }

  keep(): Promise<void> {
    return this.#admission.keep();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.comeBack();
    await this.#admission.close();
  }
}

async function scene(budgetCredits: number) {
  const stack = new AsyncDisposableStack();
  const bench = stack.use(await ledgerBench("file"));
  const route = await tokenRoute();
  const clock = { nowMs: NOON, tick: 0 };
  const gateways: Gateway[] = [];
  // until somebody gives up that one who is away returns what it was lent; those that are there have all the time that it takes
  const passing = setInterval(() => {
    if (gateways.some(({ isAway }) => isAway)) clock.tick += 100;
  }, 5);
  stack.defer(() => clearInterval(passing));
  const accounts = [await bench.account(), await bench.account()];
  for (const { accountId } of accounts) await bench.grant(accountId, 10_000, null, NOON - DAY_MS);
  const team = await bench.team(accounts.map(({ accountId }) => accountId));
  const name = { owner: "team", ownerId: team.teamId, period: "day" } as const;
  await setBudget(bench.database, { ...name, credits: budgetCredits }, { nowMs: NOON });
  for (const id of ["gw_one", "gw_two"]) {
    gateways.push(stack.use(await new Gateway(bench, id, route, clock).start()));
  }
  return {
    bench,
    clock,
    callers: team.callers,
    /** Another key of an account, with the team's budget. */
    key: async ({ accountId }: Identity) => ({ accountId, keyId: await team.key(accountId) }),
    gateways: gateways as [Gateway, Gateway],
    spent: async (atMs = NOON) => (await budgetOf(bench.database, name, atMs))!.spent,
    /** Has a gateway lent what it can for a caller. */
    async borrow(one: Gateway, caller: Identity) {
      await until(async () => (clock.tick += 200, await one.request(caller, 1)) === true, {
        what: "a loan",
      });
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

// Proves P4, P8.
Deno.test("two gateways spend a team's budget over two accounts while the database is away, and no more", async () => {
  await using at = await scene(200);
  const { gateways, callers } = at;
  for (const [n, one] of gateways.entries()) await at.borrow(one, callers[n]!);
  for (const one of gateways) one.isAway = true;
  at.clock.tick += PATIENCE_MS / 2;
  const before = gateways.map(({ sold }) => sold);
  for (const [n, one] of gateways.entries()) {
    while (await one.request(callers[n]!, 1) === true);
    assert(one.sold - before[n]! >= 20, `${n} sold ${one.sold - before[n]!} without the database`);
    assertEquals(await one.request(callers[1 - n]!, 1), undefined, "nothing is lent of that key");
  }
  for (const one of gateways) await one.comeBack();
  // all of it, and not a credit more
  for (const one of gateways) while (await one.request(callers[0]!, 1) !== undefined);
  assertEquals([gateways[0].sold + gateways[1].sold, await at.spent()], [200, 200]);
  assertEquals((await audit(at.bench.database)).mismatches, []);
});

// Proves P8.
Deno.test("what is lent of a budget is not spent in its next period, nor in one before", async () => {
  await using at = await scene(200);
  const [one] = at.gateways;
  await at.borrow(one, at.callers[0]!);
  one.isAway = true;
  at.clock.nowMs = NOON - DAY_MS;
  assertEquals(await one.request(at.callers[0]!, 1), undefined);
  at.clock.nowMs = NOON + DAY_MS / 2 - 1;
  assertEquals(await one.request(at.callers[0]!, 1), true);
  at.clock.nowMs++;
  assertEquals(await one.request(at.callers[0]!, 1), undefined);
  await one.comeBack();
  assertEquals(await at.spent(), one.sold);
  assertEquals((await audit(at.bench.database)).mismatches, []);
});

// Proves P8.
Deno.test("one key can spend the whole budget, whatever keys of other accounts were lent of it", async () => {
  await using at = await scene(200);
  const [one, two] = at.gateways;
  await at.borrow(two, at.callers[1]!);
  while (await one.request(at.callers[0]!, 1) !== undefined);
  assertEquals([one.sold + two.sold, await at.spent()], [200, 200]);
});

Deno.test("a budget that is lowered takes back what was lent of it", async () => {
  await using at = await scene(1_000);
  const [one, two] = at.gateways;
  await at.borrow(one, at.callers[0]!);
  await at.borrow(two, at.callers[1]!);
  const lowered = { owner: "team", ownerId: (await teamOf(at.bench))!, period: "day" } as const;
  const setting = setBudget(at.bench.database, { ...lowered, credits: 10 }, { nowMs: NOON });
  await setting;
  for (const gateway of at.gateways) {
    for (const caller of at.callers) while (await gateway.request(caller, 1) !== undefined);
  }
  assertEquals(await at.spent(), 10);
});

Deno.test("what is charged to a key is in the balance that an account's other keys are told", async () => {
  await using at = await scene(1_000);
  const [one] = at.gateways;
  const [first] = at.callers;
  const second = await at.key(first!);
  await at.borrow(one, first!);
  await at.borrow(one, second);
  for (const caller of [first!, second, first!, second]) {
    const before = 10_000 - one.sold;
    assertEquals([await one.request(caller, 5), one.balance], [true, before]);
  }
});

async function teamOf({ database }: LedgerBench): Promise<string | undefined> {
  const row = await database.one("select id from teams");
  return row && String(row.id);
}

// Proves P2, P4, P8.
Deno.test("gateways that are away and come back at random never exceed a budget that they share", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using at = await scene(500);
  let lent = 0;
  for (let step = 0; step < sized(600, 6_000); step++) {
    const one = random.pick(at.gateways);
    const chance = random.next();
    at.clock.tick += random.integer(0, 300);
    if (chance < 0.05) one.isAway = true;
    else if (chance < 0.12) await one.comeBack();
    else if (chance < 0.15) await one.keep();
    else if (await one.request(random.pick(at.callers), random.integer(1, 3)) === true) lent++;
    assert(await at.spent() <= 500, `SLUICE_TEST_SEED=${seed}`);
  }
  for (const one of at.gateways) await one.comeBack();
  const sold = at.gateways[0].sold + at.gateways[1].sold;
  assertEquals(await at.spent(), sold, `SLUICE_TEST_SEED=${seed}`);
  assert(lent > 20, `${lent} were admitted from loans`);
  const { mismatches, uncollected } = await audit(at.bench.database);
  assertEquals([mismatches, uncollected.requests], [[], 0], `SLUICE_TEST_SEED=${seed}`);
});
