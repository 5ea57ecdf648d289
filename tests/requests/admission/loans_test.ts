/** Credits and places that are lent to gateways: nothing is spent twice, and nothing is rejected because it is only lent. */

import type { Caller } from "../../../src/people/accounts/mod.ts";
import { Admission, type AdmittedRequest } from "../../../src/requests/admission/mod.ts";
import { type Route } from "../../../src/settings/catalog/mod.ts";
import { type Database, DatabaseError } from "../../../src/ground/database/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { audit, creditsOf, takeBack, type Tier, TierList } from "../../../src/money/ledger/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import {
  type LedgerBench,
  ledgerBench,
  type LedgerKind,
  possible,
  settlePrice,
} from "../../fake/ledger.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { tokenRoute } from "../../fake/routes.ts";
import { DEADLINE_MS, sleep, until } from "../../fake/temp.ts";
import { isProof, sized } from "../../tier.ts";

const LEASE_MS = 60_000;
const WIDE: readonly Tier[] = [{ above: 0, minute: 1e6, hour: 1e6, day: 1e6 }];

/** A caller without a budget, as admission looks at it. */
const callerOf = (of: { accountId: string; keyId: string }) =>
  ({ ...of, models: null, hasBudget: false, atOnce: null }) as unknown as Caller;

interface Running extends AdmittedRequest {
  readonly requestId: string;
  readonly caller: { accountId: string; keyId: string };
}

/** What time it is, and what gateways measure spans by, where a test says so. */
interface Clock {
  nowMs: number;
  tick?: number;
}

/** A gateway that shares a database with others, as far as admission goes. */
class Gateway implements AsyncDisposable {
  readonly #bench: LedgerBench;
  readonly #database: Database;
  readonly #route: Route;
  readonly #clock: Clock;
  readonly #admission: Admission;
  /** Whether the database can be reached. */
  isConnected = true;
  /** Gateways of which it knows that they have ended, with nothing kept. */
  ended: readonly string[] = [];

  constructor(
    bench: LedgerBench,
    { id, route, clock, tiers = WIDE }: {
      id: string;
      route: Route;
      clock: Clock;
      tiers?: readonly Tier[];
    },
  ) {
    this.#bench = bench;
    this.#route = route;
    this.#clock = clock;
    this.#database = guardedDatabase(bench.database, () => {
      if (!this.isConnected) {
        throw new DatabaseError("SLUICE_SERVER", "away", { outcomeUnknown: true });
      }
    });
    this.#admission = new Admission({
      database: this.#database,
      tierList: new TierList(tiers),
      gatewayId: id,
      leaseMs: LEASE_MS,
      log: SILENT,
      now: () => clock.nowMs,
      ...(clock.tick === undefined ? {} : { monotonicNow: () => clock.tick! }),
      lendFrom: 0,
      ended: (ids) => Promise.resolve(ids.filter((id) => this.ended.includes(id))),
    });
  }

  async start(): Promise<this> {
    await this.#admission.start();
    return this;
  }

  keep(): Promise<void> {
    return this.#admission.keep();
  }

  async admit(
    caller: { accountId: string; keyId: string },
    output: number,
    stream = false,
  ): Promise<Running> {
    const requestId = newRequestId(this.#clock.nowMs);
    const admitted = await this.#admission.admit({
      requestId,
      caller: callerOf(caller),
      route: this.#route,
      stream,
      inputTokens: 0,
      permittedOutput: output,
      choices: 1,
    }, () => {});
    return { ...admitted, requestId, caller };
  }

  /** Whether it is admitted; rejections for other reasons than the expected one throw. */
  tries(
    caller: { accountId: string; keyId: string },
    output: number,
    reason: Refusal["reason"],
  ): Promise<Running | undefined> {
    return this.admit(caller, output).catch((error) => {
      if (error instanceof Refusal && error.reason === reason) return undefined;
      throw error;
    });
  }

  async settle({ requestId, caller, hold }: Running, price: number) {
    const settled = await settlePrice(this.#bench.database, {
      ...caller,
      requestId,
      price,
      nowMs: this.#clock.nowMs,
      admittedAtMs: hold.admittedAtMs,
      lent: hold.lent,
    });
    hold.end({ ...settled, priceCredits: price });
    return settled;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#admission.close();
  }
}

async function lentCredits({ database }: LedgerBench): Promise<number> {
  return (await audit(database)).lentCredits;
}

for (const kind of possible(["file", "server", "postgres"])) {
  /** Over a server, the gate shows that no credit is spent twice. */
  const again = { ignore: !isProof && kind === "server" };

  Deno.test(
    `two gateways admit exactly as many requests as a rate window allows (${kind})`,
    again,
    async () => {
      await using bench = await ledgerBench(kind);
      const route = await tokenRoute();
      const clock = { nowMs: Date.UTC(2030, 0, 1) };
      const tiers = [{ above: 0, minute: 150, hour: 1e6, day: 1e6, account: { minute: 220 } }];
      const made = await bench.account();
      const callers = [made, { ...made, keyId: await bench.key(made.accountId) }];
      await bench.grant(made.accountId, 1e9, null, clock.nowMs);
      await using one = await new Gateway(bench, { id: "gw_one", route, clock, tiers }).start();
      await using two = await new Gateway(bench, { id: "gw_two", route, clock, tiers }).start();
      let drawn = 0;
      for (let minute = 0; minute < 2; minute++) {
        clock.nowMs += 60_000;
        const admitted = callers.map(() => 0);
        await Promise.all(
          [one, two].flatMap((gateway) =>
            Array.from({ length: 8 }, async (_, at) => {
              for (let times = 0; times < 30; times++) {
                const caller = callers[(at + times) % 2]!;
                const running = await gateway.tries(caller, 1, "rate_exceeded");
                if (running === undefined) continue;
                admitted[callers.indexOf(caller)]!++;
                if (running.hold.lent !== undefined) drawn++;
                await gateway.settle(running, 1);
              }
            })
          ),
        );
        assertEquals(admitted[0]! + admitted[1]!, 220, "of the account");
        assert(Math.max(...admitted) <= 150, `of a key: ${admitted}`);
      }
      assert(drawn > 20, `${drawn} were admitted from loans`);
      assertEquals((await audit(bench.database)).mismatches, []);
    },
  );

  Deno.test(`two gateways spend exactly the credits that there are (${kind})`, async () => {
    await using bench = await ledgerBench(kind);
    const route = await tokenRoute();
    const clock = { nowMs: Date.UTC(2030, 0, 1) };
    const caller = await bench.account();
    await bench.grant(caller.accountId, 900, null, clock.nowMs);
    await using one = await new Gateway(bench, { id: "gw_one", route, clock }).start();
    await using two = await new Gateway(bench, { id: "gw_two", route, clock }).start();
    let admitted = 0;
    let drawn = 0;
    await Promise.all([one, two].flatMap((gateway) =>
      Array.from({ length: 8 }, async () => {
        for (let times = 0; times < 40; times++) {
          const running = await gateway.tries(caller, 3, "credits_short");
          if (running === undefined) continue;
          admitted++;
          if (running.hold.lent !== undefined) drawn++;
          assertEquals((await gateway.settle(running, 3)).charged, 3);
        }
      })
    ));
    assertEquals(admitted, 300);
    assert(drawn > 20, `${drawn} were admitted from loans`);
    const { balance } = await creditsOf(bench.database, caller.accountId, clock.nowMs);
    const { mismatches, uncollected } = await audit(bench.database);
    assertEquals([balance, mismatches, uncollected.credits], [0, [], 0]);
  });

  Deno.test(
    `loans that move and gateways that die never spend a credit twice (${kind})`,
    again,
    async () => {
      const seed = testSeed();
      try {
        await walk(kind, new Random(seed));
      } catch (error) {
        throw new Error(`SLUICE_TEST_SEED=${seed}`, { cause: error });
      }
    },
  );
}

/** Random requests, growth, grants, take-backs, crashes and outages of three gateways. */
async function walk(kind: LedgerKind, random: Random): Promise<void> {
  await using bench = await ledgerBench(kind);
  const route = await tokenRoute();
  const clock = { nowMs: Date.UTC(2030, 0, 1) };
  const callers: { accountId: string; keyId: string }[] = [];
  let granted = 0;
  for (let account = 0; account < 2; account++) {
    const made = await bench.account();
    callers.push(made, { ...made, keyId: await bench.key(made.accountId) });
    await bench.grant(made.accountId, 60_000, null, clock.nowMs);
    granted += 60_000;
  }
  const start = (at: number) => new Gateway(bench, { id: `gw_${at}`, route, clock }).start();
  const gateways = await Promise.all([start(0), start(1), start(2)]);
  await using stack = new AsyncDisposableStack();
  for (const gateway of gateways) stack.use(gateway);
  let charged = 0;
  let drawn = 0;
  const steps = sized(400, 3_000);
  const request = async () => {
    const at = random.integer(0, gateways.length - 1);
    const gateway = gateways[at]!;
    const stream = random.next() < 0.5;
    const output = stream ? random.integer(1, 15) * 100 : random.integer(1, 20);
    const running = await gateway.admit(random.pick(callers), output, stream).catch((error) => {
      if (error instanceof Refusal || error instanceof DatabaseError) return undefined;
      throw error;
    });
    if (running === undefined) return;
    if (running.hold.lent !== undefined) drawn++;
    await sleep(random.integer(0, 3));
    if (stream && random.next() < 0.5) {
      await running.hold.extend(random.integer(1, output)).catch(() => {});
    }
    const price = random.integer(0, Math.min(running.hold.credits, 30));
    if (gateways[at] !== gateway) return; // it died with its gateway
    const settled = await gateway.settle(running, price);
    charged += settled.charged;
    assertEquals(settled.charged, price);
  };
  await Promise.all(Array.from({ length: 12 }, async () => {
    for (let step = 0; step < steps / 12; step++) {
      const chance = random.next();
      clock.nowMs += random.integer(0, 40);
      if (chance < 0.02) {
        const { accountId } = random.pick(callers);
        await bench.grant(accountId, 500, null, clock.nowMs);
        granted += 500;
      } else if (chance < 0.03) {
        const { accountId } = random.pick(callers);
        const { lots } = await creditsOf(bench.database, accountId, clock.nowMs);
        const taken = lots.length === 0 ? undefined : await takeBack(bench.database, {
          id: `take_back_${crypto.randomUUID()}`,
          accountId,
          lotId: random.pick(lots).id,
          credits: random.integer(1, 200),
          note: "why",
          atMs: clock.nowMs,
        });
        granted -= taken?.credits ?? 0;
      } else if (chance < 0.035) {
        // a gateway dies without a word, and starts again
        const at = random.integer(0, gateways.length - 1);
        gateways[at]!.isConnected = false;
        stack.use(gateways[at] = await start(at));
      } else if (chance < 0.05) await random.pick(gateways).keep();
      else await request();
    }
  }));
  await stack.disposeAsync();
  const { mismatches, uncollected, lentCredits } = await audit(bench.database);
  assertEquals([mismatches, lentCredits, uncollected.requests], [[], 0, 0]);
  let balances = 0;
  for (const { accountId } of [callers[0]!, callers[2]!]) {
    balances += (await creditsOf(bench.database, accountId, clock.nowMs)).balance;
  }
  assertEquals(balances, granted - charged);
  // how many depends on the machine's pace: a few show that the walk used loans
  assert(drawn > steps / 60, `${drawn} were admitted from loans`);
}

Deno.test("a take-back recalls what is lent, and takes all but what requests hold", async () => {
  await using bench = await ledgerBench("file");
  const route = await tokenRoute();
  const clock = { nowMs: Date.UTC(2030, 0, 1) };
  const caller = await bench.account();
  const lotId = await bench.grant(caller.accountId, 1_000, null, clock.nowMs);
  await using gateway = await new Gateway(bench, { id: "gw", route, clock }).start();
  await gateway.settle(await gateway.admit(caller, 1), 1);
  await until(async () => await lentCredits(bench) > 0);
  const running = await gateway.admit(caller, 9);
  assertEquals(running.hold.lent?.credits, 9);
  const taken = await takeBack(bench.database, {
    id: "take_back_1",
    accountId: caller.accountId,
    lotId,
    note: "why",
    atMs: clock.nowMs,
  });
  assertEquals(taken?.credits, 990);
  assertEquals(running.hold.lent, undefined, "the database holds it since");
  assertEquals(await gateway.settle(running, 9), { charged: 9, balance: 0 });
  assertEquals((await audit(bench.database)).mismatches, []);
});

Deno.test("a take-back recalls what is lent while it waits for another gateway, too", async () => {
  await using bench = await ledgerBench("file");
  const route = await tokenRoute();
  const clock = { nowMs: Date.UTC(2030, 0, 1) };
  // the other gateway's clock is a minute ahead
  const ahead = { nowMs: clock.nowMs + 60_000 };
  const caller = await bench.account();
  const lotId = await bench.grant(caller.accountId, 1_000, null, clock.nowMs);
  await using slow = await new Gateway(bench, { id: "slow", route, clock }).start();
  await using other = await new Gateway(bench, { id: "other", route, clock: ahead }).start();
  await slow.settle(await slow.admit(caller, 1), 1);
  await until(async () => await lentCredits(bench) > 0);
  slow.isConnected = false;
  const taking = takeBack(bench.database, {
    id: "take_back_1",
    accountId: caller.accountId,
    lotId,
    note: "why",
    atMs: clock.nowMs,
    patienceMs: DEADLINE_MS,
  });
  const isRecalled = async () =>
    (await bench.database.all("select 1 from loans where recalled = 1")).length > 0;
  await until(isRecalled);
  await other.settle(await other.admit(caller, 1), 1);
  await until(async () =>
    (await bench.database.all("select 1 from loans where gateway_id = 'other'")).length > 0
  );
  const running = await other.admit(caller, 9);
  slow.isConnected = true;
  assertEquals((await taking)?.credits, 1_000 - 2 - 9);
  assertEquals(await other.settle(running, 9), { charged: 9, balance: 0 });
  assertEquals((await audit(bench.database)).mismatches, []);
});

Deno.test("nothing is lent of what has expired", async () => {
  await using bench = await ledgerBench("file");
  const route = await tokenRoute();
  const clock = { nowMs: Date.UTC(2030, 0, 1) };
  const caller = await bench.account();
  await bench.grant(caller.accountId, 1_000, clock.nowMs + 5_000, clock.nowMs);
  await using gateway = await new Gateway(bench, { id: "gw", route, clock }).start();
  await gateway.settle(await gateway.admit(caller, 1), 1);
  await until(async () => await lentCredits(bench) > 0);
  clock.nowMs += 4_999;
  const last = await gateway.admit(caller, 7);
  assertEquals(last.hold.lent?.credits, 7);
  clock.nowMs += 1;
  await assertRejects(() => gateway.admit(caller, 1), Refusal);
  assertEquals(await gateway.settle(last, 7), { charged: 7, balance: 0 });
  assertEquals((await audit(bench.database)).mismatches, []);
});

Deno.test("a gateway that stops returns what it was lent at once", async () => {
  await using bench = await ledgerBench("file");
  const route = await tokenRoute();
  const clock = { nowMs: Date.UTC(2030, 0, 1), tick: 0 };
  const caller = await bench.account();
  await bench.grant(caller.accountId, 1_000, null, clock.nowMs);
  {
    await using one = await new Gateway(bench, { id: "gw_one", route, clock }).start();
    await one.settle(await one.admit(caller, 1), 1);
    await until(async () => await lentCredits(bench) > 0);
  }
  assertEquals(await lentCredits(bench), 0);
});

for (const kind of possible(["server", "postgres"])) {
  Deno.test(`a dead gateway's loan is free once it is certain that it has ended and kept nothing, not by time (${kind})`, async () => {
    await using bench = await ledgerBench(kind);
    const route = await tokenRoute();
    const clock = { nowMs: Date.UTC(2030, 0, 1), tick: 0 };
    const caller = await bench.account();
    await bench.grant(caller.accountId, 1_000, null, clock.nowMs);
    await using dead = await new Gateway(bench, { id: "gw_dead", route, clock }).start();
    await dead.settle(await dead.admit(caller, 1), 1);
    await until(async () => await lentCredits(bench) > 0);
    dead.isConnected = false;
    await using other = await new Gateway(bench, { id: "gw_other", route, clock }).start();
    // what is lent is as good as held until then
    const whole = async () => {
      const passing = setInterval(() => clock.tick += 50, 10); // until it gives up that the dead one returns anything
      return await other.admit(caller, 900).finally(() => clearInterval(passing));
    };
    const short = await whole();
    assertEquals(short.hold.credits, 499);
    await other.settle(short, 0);
    await bench.database.batch([{ sql: "update loans set lease_until_ms = 1" }]);
    for (const ended of [[], ["gw_elsewhere"], ["gw_dead"]]) {
      other.ended = ended;
      for (let times = 0; times < 4; times++) {
        await other.keep();
        clock.tick += LEASE_MS / 4;
      }
      const again = await whole();
      assertEquals(again.hold.credits, ended.includes("gw_dead") ? 900 : 499, `${ended}`);
      await other.settle(again, 0);
    }
  });
}

Deno.test("a stream grows within a loan, and beyond it once the loan has been returned", async () => {
  await using bench = await ledgerBench("file");
  const route = await tokenRoute();
  const clock = { nowMs: Date.UTC(2030, 0, 1) };
  const caller = await bench.account();
  await bench.grant(caller.accountId, 200_000, null, clock.nowMs);
  await using gateway = await new Gateway(bench, { id: "gw", route, clock }).start();
  await gateway.settle(await gateway.admit(caller, 1), 1);
  await until(async () => await lentCredits(bench) > 0);
  const others = await Promise.all(
    Array.from({ length: 10 }, () => gateway.admit(caller, 5_000, true)),
  );
  const stream = await gateway.admit(caller, 50_000, true);
  await stream.hold.extend(4_096);
  assertEquals([stream.hold.credits, stream.hold.lent?.credits], [8_192, 8_192]);
  for (let output = 8_192; output < 50_000; output += 4_096) await stream.hold.extend(output);
  assert(stream.hold.credits >= 50_000, `${stream.hold.credits}`);
  for (const one of others) await gateway.settle(one, 4_000);
  assertEquals((await gateway.settle(stream, 50_000)).charged, 50_000);
  assertEquals((await audit(bench.database)).mismatches, []);
});
