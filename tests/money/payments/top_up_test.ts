/** For what, with what method and when an automatic purchase is made, and what stops it. */

import { type Account, AccountError } from "../../../src/people/accounts/mod.ts";
import { applyEvent } from "../../../src/money/payments/apply_event.ts";
import { debtOf, type Order, orderById, stoppedTopUps } from "../../../src/money/payments/mod.ts";
import { stripeEvent } from "../../../src/money/payments/stripe_objects.ts";
import type { Database } from "../../../src/ground/database/mod.ts";
import { assertEquals } from "../../assert.ts";
import { counter } from "./counter.ts";
import type { StripeObject } from "./fake_stripe.ts";
import { startCheckout } from "./shop.ts";

const HOUR_MS = 3_600_000;
const TERMS = { belowCredits: 500, packageId: "starter", maxPerMonth: 9 } as const;

/** An account whose automatic purchases are on, with a saved method unless it says otherwise. */
async function scene({ isPaid = true } = {}) {
  const one = await counter();
  const { payments, news, stripe, database, clock } = one;
  const ada = await one.account();
  await payments.turnOnTopUp(ada, TERMS);
  const apply = (event: StripeObject) => applyEvent(news, stripeEvent.parse(event));
  const buy = async (account: Account, reference: string, savesMethod: boolean) => {
    const options = { origin: "console", reference, returnTo: "http://x", savesMethod } as const;
    const { order } = await startCheckout(payments, account, "starter", options);
    await apply(stripe.pay(order.sessionId!));
    return (await orderById(database, order.id))!;
  };
  if (isPaid) await buy(ada, "1", true);
  const orders = async () => {
    const rows = await database.all(
      "select state from orders where origin = 'top_up' order by created_at_ms, reference",
    );
    return rows.map(({ state }) => state);
  };
  return {
    ...one,
    ada,
    apply,
    buy,
    orders,
    balance: (credits: number) =>
      database.batch([{ sql: "update balances set balance = ?", args: [credits] }]),
    stopped: async () => (await payments.topUp(ada))!.stopped,
    /** How many purchases a run pays, and how many calls of the service it makes. */
    async run(by = payments): Promise<[paid: number, calls: number]> {
      clock.nowMs++;
      const before = stripe.calls.length;
      return [await by.runTopUps(), stripe.calls.length - before];
    },
  };
}

Deno.test("the method is that of the first payment online that was to save one, in this mode, since it was turned on", async () => {
  const options = (more = {}) =>
    `checkout_options = '${JSON.stringify({ returnTo: "http://x", ...more })}'`;
  const saving = options({ savesMethod: true });
  const paid = "paid_at_ms = 1, paid_amount = 499";
  const rows: readonly [from: Partial<Order>, sql: string, isAsked: boolean][] = [
    [{}, `${paid}, ${saving}`, true],
    [{ provider: "manual" }, `${paid}, ${saving}`, false],
    [{ livemode: true }, `${paid}, ${saving}`, false],
    [{}, `paid_at_ms = null, ${saving}`, false],
    [{}, `${paid}, ${options()}`, false],
    [{}, `${paid}, checkout_options = null`, false],
  ];
  for (const [from, sql, isAsked] of rows) {
    for (const [lateMs, isLate] of [[-1_001, false], [-1_000, true]] as const) {
      await using one = await scene({ isPaid: false });
      const { database, ada, clock, stripe } = one;
      stripe.intents.set("pi_1", {
        id: "pi_1",
        object: "payment_intent",
        livemode: false,
        status: "succeeded",
        amount: 499,
        currency: "usd",
        customer: "cus_1",
        payment_method: "pm_1",
      });
      const { id } = await one.order(ada, { ...from, createdAtMs: clock.nowMs + lateMs });
      await database.batch([{ sql: `update orders set payment_id = 'pi_1', ${sql}` }]);
      const what = `${id} ${JSON.stringify(from)} ${sql} ${lateMs}`;
      assertEquals((await one.run())[1] > 0, isAsked && isLate, what);
      assertEquals((await one.payments.topUp(ada))?.hasMethod, isAsked && isLate, what);
    }
  }
});

Deno.test("an ordinary purchase neither stops it, nor hides the payment that saved the method", async () => {
  await using one = await scene({ isPaid: false });
  await one.buy(one.ada, "1", false);
  assertEquals([await one.run(), await one.stopped()], [[0, 0], ""]);
  await one.buy(one.ada, "2", true);
  one.clock.nowMs++;
  await one.buy(one.ada, "3", false);
  await one.run();
  assertEquals([await one.stopped(), (await one.payments.topUp(one.ada))?.hasMethod], ["", true]);
});

Deno.test("a payment that saved no method, or nobody's, stops it, and is not asked about again", async () => {
  for (const missing of ["customer", "payment_method"]) {
    await using one = await scene();
    const [intent] = [...one.stripe.intents.values()];
    intent![missing] = null;
    assertEquals(await one.run(), [0, 1]);
    assertEquals(await one.stopped(), "The payment method was not saved with the payment");
    assertEquals(await one.run(), [0, 0], "it has stopped");
    const other = await one.account();
    await one.payments.turnOnTopUp(other, TERMS);
    const { stoppedAtMs } = (await one.payments.topUp(one.ada))!;
    const since = async (sinceMs: number) =>
      (await stoppedTopUps(one.database, { after: "", sinceMs, limit: 9 }))
        .map(({ accountId }) => accountId);
    assertEquals(await since(stoppedAtMs!), [one.ada.id]);
    assertEquals(await since(stoppedAtMs! + 1), []);
  }
});

Deno.test("a method that is found when it was turned off or on again is not kept", async () => {
  for (const isOn of [false, true]) {
    await using one = await scene();
    const { payments, database, ada, clock } = one;
    const late: Database = {
      ...database,
      batch: async (statements) => {
        if (statements[0]!.sql.includes("set customer_id = ?, payment_method_id")) {
          if (isOn) clock.nowMs++;
          await payments.turnOffTopUp(ada);
          if (isOn) await payments.turnOnTopUp(ada, TERMS);
          else {await database.batch([{
              sql: "update top_ups set changed_at_ms = changed_at_ms - 1",
            }]);}
        }
        return await database.batch(statements);
      },
    };
    await one.balance(500);
    await one.run(one.paymentsAt(late));
    assertEquals((await payments.topUp(ada))?.hasMethod, false);
  }
});

Deno.test("what is low buys, whatever else is open; what is high buys only what it had begun to", async () => {
  await using one = await scene();
  const { ada, stripe, database } = one;
  await one.order(ada);
  await one.order(ada, { origin: "top_up", livemode: true });
  await one.balance(500);
  assertEquals((await one.run())[0], 0, "another's open order is not paid");
  await one.balance(499);
  assertEquals((await one.run())[0], 1);
  assertEquals(await one.orders(), ["open", "paid"], "one is of the other mode");
  await one.balance(499);
  stripe.down = true;
  assertEquals((await one.run())[0], 0);
  stripe.down = false;
  await one.balance(9_999);
  assertEquals((await one.run())[0], 1);
  assertEquals(await one.run(), [0, 0]);
  await database.batch([{ sql: "update top_ups set livemode = 1" }]);
  await one.balance(0);
  assertEquals(await one.run(), [0, 0], "it was turned on in the other mode");
  assertEquals(await one.payments.topUp(await one.account()), undefined);
});

Deno.test("a payment that goes on is waited for; one that fails later stops it, once, and no other failure does", async () => {
  await using one = await scene();
  const { stripe, logged } = one;
  const failed = await one.order(one.ada);
  await one.database.batch([{
    sql: "update orders set state = 'failed' where id = ?",
    args: [failed.id],
  }]);
  await one.balance(0);
  stripe.leaves = "processing";
  assertEquals((await one.run())[0], 0);
  assertEquals([await one.orders(), await one.stopped()], [["open"], ""]);
  // a bank debit takes days
  one.clock.nowMs += 30 * HOUR_MS;
  assertEquals(await one.run(), [0, 1]);
  assertEquals([await one.orders(), await one.stopped()], [["open"], ""]);
  const [intent] = [...stripe.intents.values()].slice(-1);
  await one.apply(
    stripe.event("payment_intent.payment_failed", {
      ...intent!,
      status: "requires_payment_method",
    }),
  );
  assertEquals(await one.orders(), ["failed"]);
  stripe.leaves = undefined;
  logged.length = 0;
  for (let runs = 0; runs < 2; runs++) assertEquals(await one.run(), [0, 0]);
  assertEquals(await one.stopped(), "The payment failed");
  assertEquals(logged, ["error automatic top-up stopped"]);
});

Deno.test("a payment that goes on for days is paid in the end, also if nobody tells of it", async () => {
  await using one = await scene();
  await one.balance(0);
  one.stripe.leaves = "processing";
  assertEquals((await one.run())[0], 0);
  one.clock.nowMs += 96 * HOUR_MS;
  const [intent] = [...one.stripe.intents.values()].slice(-1);
  Object.assign(intent!, { status: "succeeded", amount_received: intent!.amount });
  assertEquals((await one.run())[0], 1);
  assertEquals([await one.orders(), await one.stopped()], [["paid"], ""]);
});

Deno.test("what was not charged before it was turned off does not stop it when it is turned on again", async () => {
  await using one = await scene();
  const { stripe, payments, ada, clock } = one;
  await one.balance(500);
  await one.run(); // finds the method
  await one.balance(0);
  stripe.down = true;
  await one.run();
  stripe.down = false;
  await payments.turnOffTopUp(ada);
  clock.nowMs += 25 * HOUR_MS;
  await payments.reconcile();
  assertEquals(await one.orders(), ["expired"]);
  stripe.clockMs = 25 * HOUR_MS;
  await payments.turnOnTopUp(ada, TERMS);
  await one.run();
  assertEquals([await one.orders(), await one.stopped()], [["expired"], ""]);
});

Deno.test("what could not be charged for twenty hours is not charged later", async () => {
  for (const [ageMs, isCharged] of [[20 * HOUR_MS, true], [20 * HOUR_MS + 1, false]] as const) {
    await using one = await scene();
    const { stripe, clock } = one;
    await one.balance(500);
    await one.run(); // finds the method
    await one.balance(0);
    stripe.down = true;
    await one.run();
    stripe.down = false;
    const [order] = await one.database.all(
      "select created_at_ms from orders where origin = 'top_up'",
    );
    clock.nowMs = Number(order!.created_at_ms) + ageMs - 1;
    assertEquals((await one.run())[0], isCharged ? 1 : 0);
    assertEquals(await one.orders(), [isCharged ? "paid" : "failed"]);
    assertEquals(
      await one.stopped(),
      isCharged ? "" : "The payment service could not be reached",
    );
  }
});

Deno.test("a dispute, a debt, or a package that is gone stops it", async () => {
  const GONE = "A payment of this account was refunded or disputed";
  const rows: Readonly<Record<string, readonly [sql: string, why: string]>> = {
    dispute: ["update orders set state = 'disputed'", GONE],
    debt: [
      `insert into order_credits (id, cause, order_id, role, account_id, kind, credits, at_ms)
        select 'x', 'x', id, 'purchase', account_id, 'owed', 1, 1 from orders`,
      GONE,
    ],
    package: ["update top_ups set package_id = 'gone'", "Package gone is not sold any more"],
  };
  for (const [what, [sql, why]] of Object.entries(rows)) {
    await using one = await scene();
    await one.balance(0);
    await one.database.batch([{ sql }]);
    assertEquals(await debtOf(one.database, one.ada.id), what === "debt" ? 1 : 0);
    assertEquals((await one.run())[0], 0, what);
    assertEquals([await one.orders(), await one.stopped()], [[], why]);
  }
});

Deno.test("one that was turned off meanwhile is not stopped, and nobody is told so", async () => {
  await using one = await scene();
  const { payments, database, ada, logged } = one;
  await one.balance(0);
  const late: Database = {
    ...database,
    one: async (sql, args) => {
      if (!sql.includes("state = 'disputed'")) return await database.one(sql, args);
      await payments.turnOffTopUp(ada);
      throw new AccountError("it is not to be bought");
    },
  };
  assertEquals((await one.run(one.paymentsAt(late)))[0], 0);
  const { isOn, stopped } = (await payments.topUp(ada))!;
  assertEquals([isOn, stopped, logged.filter((line) => line.includes("stopped"))], [false, "", []]);
});

Deno.test("only its own purchases of the month count, and an account that is disabled buys nothing", async () => {
  await using one = await scene();
  const { ada, accounts, clock } = one;
  await one.payments.turnOnTopUp(ada, { ...TERMS, maxPerMonth: 1 });
  const month = new Date(clock.nowMs).toISOString().slice(0, 7);
  await one.order(ada, { provider: "manual", origin: "operator", reference: `top-up ${month} 9` });
  await one.balance(0);
  await accounts.disable(ada.email);
  assertEquals((await one.run())[0], 0);
  await accounts.enable(ada.email);
  assertEquals((await one.run())[0], 1);
  await one.balance(0);
  assertEquals((await one.run())[0], 0);
  assertEquals(await one.orders(), ["paid"]);
});
