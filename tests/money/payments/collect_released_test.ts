/** What was held when a refund came is taken back once it is free or spent: an order is looked at again when that is so, and only then. */

import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { admit, audit, creditsOf, TierList } from "../../../src/money/ledger/mod.ts";
import { Accounts } from "../../../src/people/accounts/mod.ts";
import { debtOf, recordSale } from "../../../src/money/payments/mod.ts";
import { collectReleased, settleChange } from "../../../src/money/payments/settle_payment.ts";
import { assert, assertEquals } from "../../assert.ts";
import { ledgerBench, settlePrice } from "../../fake/ledger.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sized } from "../../tier.ts";

const NOW = Date.UTC(2030, 0, 1);
const tierList = new TierList([{ above: 0, minute: 1e6, hour: 1e6, day: 1e6 }]);

/** An account that has bought 500 credits for 5 dollars. */
async function bench() {
  const ledger = await ledgerBench("file");
  const { database } = ledger;
  await database.batch(tierList.statements);
  const caller = await ledger.account();
  const { accountId } = caller;
  let sales = 0;
  const buy = async () => {
    const lotId = `lot_sale${++sales}`;
    await recordSale(database, {
      accountId,
      lotId,
      reference: `sale ${sales}`,
      packageId: "starter",
      packageName: "Starter",
      credits: 500,
      validDays: null,
      amount: 500,
      currency: "usd",
      isPayment: true,
      note: "",
      bonusCredits: 0,
      atMs: NOW + sales,
    });
    return `manual_${lotId}`;
  };
  let changes = 0;
  return {
    ledger,
    database,
    accountId,
    buy,
    async refund(paymentId: string, amount: number) {
      await settleChange(database, {
        id: `re_${++changes}`,
        kind: "refund",
        paymentId,
        amount,
        currency: "usd",
        livemode: true,
        rank: 1,
        atMs: NOW + 100,
      }, { accountIds: [accountId] });
    },
    async hold(credits: number) {
      const requestId = newRequestId(NOW);
      const { verdict } = await admit(database, {
        ...caller,
        requestId,
        gatewayId: "gw",
        least: credits,
        wanted: credits,
        nowMs: NOW + 50,
        leaseMs: 60_000,
        tierListId: tierList.id,
      });
      return verdict === "admitted" ? requestId : undefined;
    },
    async end(requestId: string, price: number) {
      await settlePrice(database, { ...caller, requestId, price, nowMs: NOW + 200 });
    },
    collect: (at: number) => collectReleased(database, { nowMs: NOW + 1_000 + at, limit: 10 }),
    async state() {
      const { balance } = await creditsOf(database, accountId, NOW + 300);
      return [balance, await debtOf(database, accountId)];
    },
    async [Symbol.asyncDispose]() {
      assertEquals((await audit(database)).mismatches, []);
      await ledger[Symbol.asyncDispose]();
    },
  };
}

Deno.test("nothing is collected while all is held; then what is free, and what was spent is owed", async () => {
  await using one = await bench();
  const payment = await one.buy();
  const [first, second] = [await one.hold(300), await one.hold(200)];
  await one.refund(payment, 500);
  assertEquals([await one.collect(1), await one.state()], [0, [500, 0]]);
  // free credits
  await one.end(first!, 120);
  assertEquals([await one.collect(2), await one.state()], [1, [200, 120]]);
  assertEquals([await one.collect(3), await one.state()], [0, [200, 120]]);
  // no free credits, and a debt
  await one.end(second!, 200);
  assertEquals([await one.collect(4), await one.state()], [1, [0, 320]]);
  assertEquals([await one.collect(5), await one.state()], [0, [0, 320]]);
});

Deno.test("of what is not the refunded order's nothing is collected", async () => {
  await using one = await bench();
  const payment = await one.buy();
  await one.ledger.grant(one.accountId, 100, NOW + 10_000);
  const request = await one.hold(600);
  await one.refund(payment, 250);
  assertEquals([await one.collect(1), await one.state()], [0, [600, 0]]);
  await one.end(request!, 600);
  assertEquals([await one.collect(2), await one.state()], [1, [0, 250]]);
  await one.ledger.grant(one.accountId, 70, null, NOW + 400);
  assertEquals([await one.collect(3), await one.state()], [0, [70, 250]]);
});

Deno.test("orders are looked at again exactly when something can be collected (random)", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  let listed = 0;
  try {
    // few rounds may have nothing to collect
    for (let round = 0; round < sized(4, 60) || listed === 0 && round < 60; round++) {
      await using one = await bench();
      const { database } = one;
      const held: [id: string, credits: number][] = [];
      const payments = [await one.buy()];
      for (let step = 0; step < 25; step++) {
        const kind = random.integer(0, 6);
        if (kind === 0) payments.push(await one.buy());
        else if (kind === 1) {
          await one.refund(random.pick(payments), random.pick([100, 250, 333, 500]));
        } else if (kind === 2) {
          await one.ledger.grant(one.accountId, random.integer(1, 200), null, NOW + step);
        } else if (kind < 5 || held.length === 0) {
          const { balance, held: other } = await creditsOf(database, one.accountId, NOW + 300);
          const credits = random.pick([balance - other, random.integer(1, 300)]);
          const id = credits > 0 ? await one.hold(credits) : undefined;
          if (id !== undefined) held.push([id, credits]);
        } else {
          const [[id, credits]] = held.splice(random.integer(0, held.length - 1), 1) as [
            [string, number],
          ];
          await one.end(id, random.pick([0, credits, random.integer(0, credits), credits + 50]));
        }
        const orders = await database.all("select id from orders order by id");
        const wanted = (await database.all("select order_id from collectable_orders"))
          .map(({ order_id }) => order_id);
        for (const { id } of orders) {
          const moved = async () =>
            Number((await database.one("select count(*) as n from order_credits"))!.n);
          const before = await moved();
          const isWanted = wanted.includes(id!);
          // what one order gets another does not
          if (wanted.length > 1 && isWanted && wanted[0] !== id) continue;
          await database.batch([{
            sql: "insert into order_collections (order_id, cause, at_ms) values (?, ?, ?)",
            args: [id!, `collected:${id}.${step}`, NOW + 500],
          }]);
          assertEquals(await moved() > before, isWanted, `${round}, step ${step}: ${id}`);
          if (isWanted) listed++;
        }
      }
    }
  } catch (error) {
    throw new Error(`SLUICE_TEST_SEED=${seed}`, { cause: error });
  }
  assert(listed > 0);
});

Deno.test("the inviter's bonus is earned by the first payment, or never: not by a gift, and not while the inviter is disabled", async () => {
  type Sale = readonly [isPayment: boolean, bonusCredits: number, isDisabled: boolean];
  const rows: readonly (readonly [sales: readonly Sale[], bonuses: readonly number[]])[] = [
    [[[false, 7, false], [true, 7, false], [true, 7, false]], [0, 7, 7]],
    [[[true, 0, false], [true, 7, false]], [0, 0]],
    [[[true, 7, true], [true, 7, false]], [0, 0]],
  ];
  for (const [sales, bonuses] of rows) {
    await using ledger = await ledgerBench("file");
    const { database } = ledger;
    const accounts = new Accounts(database, () => NOW);
    const { id: inviter } = await accounts.create({ email: "inviter@example.com" });
    const buyer = await accounts.create({ email: "buyer@example.com", invitedBy: inviter });
    const earned: number[] = [];
    for (const [at, [isPayment, bonusCredits, isDisabled]] of sales.entries()) {
      await database.batch([{
        sql: "update accounts set disabled_at_ms = ? where id = ?",
        args: [isDisabled ? 1 : null, inviter],
      }]);
      const sale = {
        accountId: buyer.id,
        lotId: `lot_sale${at}`,
        reference: `${at}`,
        packageId: "starter",
        packageName: "Starter",
        credits: 500,
        validDays: null,
        amount: 500,
        currency: "usd",
        isPayment,
        note: "",
        bonusCredits,
        atMs: NOW + at,
      };
      for (const isRepeated of [false, true]) {
        assertEquals((await recordSale(database, sale)).isRepeated, isRepeated);
      }
      earned.push((await creditsOf(database, inviter, NOW + at)).balance);
    }
    assertEquals(earned, bonuses);
    assertEquals((await creditsOf(database, buyer.id, NOW)).balance, 500 * sales.length);
    assertEquals((await audit(database)).mismatches, []);
  }
});

Deno.test("a refund is not changed by news of a dispute or of another payment that has its ID", async () => {
  await using one = await bench();
  const [first, second] = [await one.buy(), await one.buy()];
  const change = (kind: "refund" | "dispute", paymentId: string, rank: 1 | 2) =>
    settleChange(one.database, {
      id: "re_1",
      kind,
      paymentId,
      amount: 100,
      currency: "usd",
      livemode: true,
      rank,
      atMs: NOW + 100,
    }, { accountIds: [one.accountId] });
  await change("refund", first, 1);
  assertEquals(await one.state(), [900, 0]);
  await change("dispute", first, 2);
  await change("refund", second, 2);
  assertEquals(await one.state(), [900, 0]);
  await change("refund", first, 2);
  assertEquals(await one.state(), [1_000, 0]);
});
