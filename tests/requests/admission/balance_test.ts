/** The balance that replies name: the database's, less what was charged since it was asked. */

import type { Caller } from "../../../src/people/accounts/mod.ts";
import { Admission, type Hold } from "../../../src/requests/admission/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { creditsOf, TierList } from "../../../src/money/ledger/mod.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { assertEquals } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { ledgerBench, settlePrice } from "../../fake/ledger.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { routeOf } from "../../fake/routes.ts";
import { sleep, until } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

const NOW = Date.UTC(2030, 0, 1);

/** Requests of one account after the other, and what is asked of the database. */
async function balanceBench() {
  await using stack = new AsyncDisposableStack();
  const bench = stack.use(await ledgerBench("file", { behind: true }));
  const route = await routeOf("svc-k2");
  let onAsked: (() => void) | undefined;
  let questions = 0;
  const database = guardedDatabase(bench.database, () => {
    questions++;
    const asked = onAsked;
    onAsked = undefined;
    if (asked !== undefined) queueMicrotask(asked);
  });
  const admission = new Admission({
    database,
    tierList: new TierList([{ above: 0, minute: 1e6, hour: 1e6, day: 1e6 }]),
    gatewayId: "gw",
    leaseMs: 60_000,
    log: SILENT,
    now: () => NOW,
    lendFrom: 0,
  });
  await admission.start();
  stack.defer(() => admission.close());
  let account = await bench.account();
  const owned = stack.move();
  return {
    /** How often the database was asked. */
    get questions() {
      return questions;
    },
    async newAccount() {
      account = await bench.account();
      await bench.grant(account.accountId, 1_000_000);
    },
    /** Calls this when the next question has been sent, before its answer comes. */
    whenAsked(call: () => void) {
      onAsked = call;
    },
    /** Calls it now if nothing has been asked. */
    askedNow() {
      onAsked?.();
      onAsked = undefined;
    },
    /** A budget has the database decide. */
    async admit(hasBudget = false) {
      const requestId = newRequestId(NOW);
      let balance = 0;
      const { hold } = await admission.admit({
        requestId,
        caller: { ...account, models: null, atOnce: null, hasBudget } as unknown as Caller,
        route,
        stream: false,
        inputTokens: 10,
        permittedOutput: 10,
        choices: 1,
      }, (status) => balance = status.balance);
      return { requestId, hold, balance };
    },
    /** Settles a request whose charge has been noted. */
    async settle({ requestId, hold }: { requestId: string; hold: Hold }) {
      const { admittedAtMs, lent } = hold;
      const request = { ...account, requestId, admittedAtMs, lent, nowMs: NOW, price: 1 };
      const settled = await settlePrice(bench.database, request);
      hold.end({ ...settled, priceCredits: 1 });
    },
    /** The balance that the database has. */
    async balance() {
      return (await creditsOf(bench.database, account.accountId, NOW)).balance;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

Deno.test("however a settlement falls between a question and its answer, the next reply names the database's balance", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using bench = await balanceBench();
  const named = async () => (await bench.admit()).balance === await bench.balance();
  /** Whether another question came between a charge and its settlement, as on a busy machine. */
  let isLate = false;
  const charge = async (request: Awaited<ReturnType<typeof bench.admit>>) => {
    request.hold.charge(1);
    const { questions } = bench;
    await bench.settle(request);
    isLate ||= bench.questions > questions;
  };
  for (let step = 0; step < sized(60, 1_000); step++) {
    if (step === 0 || random.next() < 0.3) await bench.newAccount();
    const running = await bench.admit(random.next() < 0.5);
    const ended = Promise.withResolvers<void>();
    bench.whenAsked(() => void charge(running).then(ended.resolve, ended.reject));
    if (random.next() < 0.5) {
      const beside = await bench.admit(random.next() < 0.5);
      await charge(beside);
    }
    await sleep(random.integer(0, 40)); // the loan is looked after every 250 ms
    bench.askedNow();
    await ended.promise;
    if (isLate) await until(named, { what: "the balance" });
    isLate = false;
    const next = await bench.admit();
    assertEquals(next.balance, await bench.balance(), `step ${step} of seed ${seed}`);
    await charge(next);
  }
});

Deno.test("a charge that comes to the database after the balance was read is in the next one", async () => {
  for (const hasBudget of [false, true]) {
    await using bench = await balanceBench();
    await bench.newAccount();
    const late = await bench.admit(hasBudget);
    await until(async () => (await bench.admit()).hold.lent !== undefined, { what: "a loan" });
    const asked = Promise.withResolvers<void>();
    bench.whenAsked(asked.resolve);
    late.hold.charge(1);
    await asked.promise;
    await sleep(50); // the answer, which lacks the charge
    await bench.settle(late);
    await until(async () => (await bench.admit()).balance === await bench.balance(), {
      what: "the balance",
    });
  }
});
