/** What becomes of payments: each case ends with exact credits and a clean audit. */

import fc from "fast-check";
import { creditsOf } from "../../../src/money/ledger/mod.ts";
import { eventsOfOrder } from "../../../src/money/payments/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { statusOf } from "../../fake/gateway.ts";
import { sized } from "../../tier.ts";
import { send } from "./fake_stripe.ts";
import { openShop, shopTest, startCheckout } from "./shop.ts";

shopTest("what becomes of payments, refunds and disputes", {
  async "a paid checkout grants its package once, with a receipt"(shop) {
    const ada = await shop.account();
    const order = await shop.order(ada);
    assertEquals([order.state, order.amount, order.credits, order.livemode], [
      "open",
      499,
      500,
      false,
    ]);
    assertEquals(await shop.balance(ada), 0, "a checkout that was started gives nothing");
    assertEquals(await shop.deliver(shop.stripe.pay(order.sessionId)), [200]);
    const paid = await shop.again(order);
    assertEquals([paid.state, paid.receipt, paid.paidAmount], ["paid", 1, 499]);
    assertEquals(await shop.balance(ada), 500);
    const { lots } = await creditsOf(shop.gateway.gateway.database, ada.id, Date.now());
    assertEquals(lots.map(({ source, note, expiresAtMs }) => [source, note, expiresAtMs]), [
      ["package", "Starter", null],
    ]);
    await shop.assertClean();

    const premium = await shop.buy(ada, "premium");
    assertEquals([premium.receipt, await shop.balance(ada)], [2, 20_500]);
    await shop.assertClean();
  },

  async "a checkout has the address of who pays, if it is one, and keeps a card only for automatic purchases"(
    shop,
  ) {
    const { accounts, payments, teams } = shop.gateway.gateway;
    const ada = await shop.account();
    const local = await accounts.get("owner@localhost");
    const { poolId } = await teams.create({ name: "Paying", pool: true });
    const pool = (await accounts.byId(poolId!))!;
    for (
      const [account, buyer, email] of [
        [ada, undefined, ada.email],
        [local, undefined, null],
        [pool, ada, ada.email],
        [pool, local, null],
      ] as const
    ) {
      for (const savesMethod of [undefined, false, true]) {
        const { order } = await startCheckout(payments, account, "starter", {
          origin: "console",
          reference: crypto.randomUUID(),
          returnTo: shop.gateway.url,
          buyer,
          savesMethod,
        });
        const session = shop.stripe.sessions.get(order.sessionId!)!;
        const data = session.payment_intent_data as { readonly setup_future_usage?: string };
        assertEquals(
          [session.customer_email, session.customer_creation, data.setup_future_usage],
          savesMethod ? [email, "always", "off_session"] : [email, "if_required", undefined],
        );
      }
    }
  },

  async "an abandoned checkout expires and gives nothing; money that comes all the same counts"(
    shop,
  ) {
    const ada = await shop.account();
    const order = await shop.order(ada);
    await shop.deliver(shop.stripe.expire(order.sessionId));
    assertEquals([(await shop.again(order)).state, await shop.balance(ada)], ["expired", 0]);
    await shop.assertClean();
    await shop.deliver(shop.stripe.pay(order.sessionId));
    assertEquals([(await shop.again(order)).state, await shop.balance(ada)], ["paid", 500]);
    await shop.assertClean();
  },

  async "a delayed payment counts when it succeeds, and closes its order when it fails"(shop) {
    const ada = await shop.account();
    const [good, bad] = [await shop.order(ada), await shop.order(ada, "standard")];
    await shop.deliver(
      shop.stripe.pay(good.sessionId, { status: "unpaid" }),
      shop.stripe.pay(bad.sessionId, { status: "unpaid" }),
    );
    assertEquals([(await shop.again(good)).state, await shop.balance(ada)], ["open", 0]);
    await shop.deliver(
      shop.stripe.settleDelayed(good.sessionId, true),
      shop.stripe.settleDelayed(bad.sessionId, false),
    );
    assertEquals(
      [(await shop.again(good)).state, (await shop.again(bad)).state, await shop.balance(ada)],
      ["paid", "failed", 500],
    );
    await shop.assertClean();
  },

  async "refunds in parts take credits in proportion, the last one the exact rest"(shop) {
    const { stripe } = shop;
    const ada = await shop.account();
    const order = await shop.buy(ada);
    for (
      const [amount, left, state] of [
        [100, 400, "partly_refunded"],
        [1, 399, "partly_refunded"],
        [200, 199, "partly_refunded"],
        [198, 0, "refunded"],
      ] as const
    ) {
      const refund = stripe.refund(order.paymentId, amount);
      await shop.deliver(
        stripe.event("refund.created", refund),
        stripe.event("refund.updated", refund),
      );
      assertEquals([await shop.balance(ada), (await shop.again(order)).state], [left, state]);
      await shop.assertClean();
    }
    assertEquals(await shop.debt(ada), 0);
  },

  async "the spent part of a refund is a debt that the next purchases pay off"(shop) {
    const { stripe } = shop;
    const ada = await shop.account();
    const order = await shop.buy(ada, "standard");
    await shop.spend(ada, 4_600);
    const refund = stripe.refund(order.paymentId);
    await shop.deliver(stripe.event("refund.created", refund));
    assertEquals([await shop.balance(ada), await shop.debt(ada)], [0, 4_600]);
    await shop.assertClean();
    await shop.buy(ada);
    assertEquals([await shop.balance(ada), await shop.debt(ada)], [0, 4_100]);
    await shop.assertClean();
    await shop.buy(ada, "standard");
    assertEquals([await shop.balance(ada), await shop.debt(ada)], [900, 0]);
    await shop.assertClean();
    // the refund failed: what later purchases paid comes back
    await shop.deliver(stripe.event("refund.failed", { ...refund, status: "failed" }));
    assertEquals([await shop.balance(ada), await shop.debt(ada)], [900 + 400 + 4_600, 0]);
    assertEquals((await shop.again(order)).state, "paid");
    await shop.assertClean();
  },

  async "a refund that fails gives back what it took, with the expiry of the first lot"(shop) {
    const { stripe } = shop;
    const ada = await shop.account();
    const order = await shop.buy(ada, "standard");
    await shop.spend(ada, 1_000);
    const [first] = (await creditsOf(shop.gateway.gateway.database, ada.id, Date.now())).lots;
    const refund = stripe.refund(order.paymentId, 2_999);
    await shop.deliver(stripe.event("refund.created", { ...refund, status: "pending" }));
    assertEquals([await shop.balance(ada), await shop.debt(ada)], [0, 1_000]);
    await shop.deliver(stripe.event("refund.failed", { ...refund, status: "failed" }));
    assertEquals([await shop.balance(ada), await shop.debt(ada)], [4_000, 0]);
    const { lots } = await creditsOf(shop.gateway.gateway.database, ada.id, Date.now());
    assertEquals(lots.map(({ expiresAtMs }) => expiresAtMs), [first!.expiresAtMs]);
    // late news of the time before change nothing
    const late = await shop.deliver(
      stripe.event("refund.updated", { ...refund, status: "succeeded" }),
      stripe.event("refund.created", { ...refund, status: "pending" }),
    );
    assertEquals(late, [200, 200]);
    assertEquals(await shop.balance(ada), 4_000);
    await shop.assertClean();
  },

  async "a dispute takes the credits when the money is withdrawn; an inquiry takes nothing"(shop) {
    const { stripe } = shop;
    const ada = await shop.account();
    const order = await shop.buy(ada);
    const inquiry = stripe.dispute(order.paymentId, "warning_needs_response");
    await shop.deliver(stripe.event("charge.dispute.created", inquiry));
    assertEquals([await shop.balance(ada), (await shop.again(order)).state], [500, "paid"]);
    await shop.deliver(
      stripe.event("charge.dispute.closed", { ...inquiry, status: "warning_closed" }),
    );
    await shop.spend(ada, 200);

    const dispute = stripe.dispute(order.paymentId, "needs_response");
    await shop.deliver(
      stripe.event("charge.dispute.created", dispute),
      stripe.event("charge.dispute.funds_withdrawn", dispute),
    );
    assertEquals([await shop.balance(ada), await shop.debt(ada)], [0, 200]);
    assertEquals((await shop.again(order)).state, "disputed");
    await shop.assertClean();
    await assertRejects(() => shop.order(ada), Error, "disputed");

    await shop.deliver(
      stripe.event("charge.dispute.closed", { ...dispute, status: "lost" }),
    );
    assertEquals([await shop.balance(ada), await shop.debt(ada)], [0, 200]);
    assertEquals((await shop.again(order)).state, "charged_back");
    await shop.assertClean();
    assertEquals((await shop.order(ada)).state, "open", "a decided dispute bars nobody");
  },

  async "a dispute that is won gives the credits back"(shop) {
    const { stripe } = shop;
    const ada = await shop.account();
    const order = await shop.buy(ada, "standard");
    await shop.spend(ada, 500);
    const refund = stripe.refund(order.paymentId, 1_000);
    await shop.deliver(stripe.event("refund.created", refund));
    const partly = 4_500 - Math.floor(5_000 * 1_000 / 2_999);
    assertEquals(await shop.balance(ada), partly);
    const dispute = stripe.dispute(order.paymentId, "under_review", 1_999);
    await shop.deliver(stripe.event("charge.dispute.created", dispute));
    assertEquals([await shop.balance(ada), await shop.debt(ada)], [0, 500]);
    const won = { ...dispute, status: "won" };
    await shop.deliver(
      stripe.event("charge.dispute.funds_reinstated", won),
      stripe.event("charge.dispute.closed", won),
    );
    assertEquals([await shop.balance(ada), await shop.debt(ada)], [partly, 0]);
    assertEquals((await shop.again(order)).state, "partly_refunded");
    await shop.assertClean();
  },

  async "an invited user's first payment pays the inviter once, and its refund takes that back"(
    shop,
  ) {
    const { stripe } = shop;
    const eve = await shop.account();
    const ada = await shop.account(await shop.gateway.gateway.accounts.inviteCode(eve));
    const order = await shop.buy(ada);
    await shop.buy(ada);
    assertEquals([await shop.balance(eve), await shop.balance(ada)], [500, 1_000]);
    const refund = stripe.refund(order.paymentId, 498);
    await shop.deliver(stripe.event("refund.created", refund));
    assertEquals(await shop.balance(eve), 500, "it goes with the whole payment");
    await shop.spend(eve, 120);
    const rest = stripe.refund(order.paymentId, 1);
    await shop.deliver(stripe.event("refund.created", rest));
    assertEquals([await shop.balance(eve), await shop.debt(eve)], [0, 120]);
    await shop.assertClean();
    await shop.deliver(stripe.event("refund.failed", { ...rest, status: "failed" }));
    assertEquals([await shop.balance(eve), await shop.debt(eve)], [380, 0]);
    await shop.assertClean();
  },

  async "ten deliveries of an event at once, and of others that say the same, count once"(shop) {
    const { stripe, gateway } = shop;
    const ada = await shop.account();
    const order = await shop.order(ada);
    const event = stripe.pay(order.sessionId);
    const others = Array.from(
      { length: 5 },
      () =>
        stripe.event(
          "checkout.session.async_payment_succeeded",
          stripe.sessions.get(order.sessionId)!,
        ),
    );
    const statuses = await Promise.all(
      [...Array.from({ length: 10 }, () => event), ...others].map((one) => send(gateway.url, one)),
    );
    assertEquals(new Set(statuses), new Set([200]));
    assertEquals(await shop.balance(ada), 500);
    const refund = stripe.event(
      "refund.created",
      stripe.refund((await shop.again(order)).paymentId!),
    );
    await Promise.all(Array.from({ length: 10 }, () => send(gateway.url, refund)));
    assertEquals([await shop.balance(ada), await shop.debt(ada)], [0, 0]);
    assertEquals(
      (await eventsOfOrder(gateway.gateway.database, order.id)).map(({ kind }) => kind),
      ["session", "paid", "refunded"],
    );
    await shop.assertClean();
  },

  async "a session of one order cannot pay another"(shop) {
    const { stripe } = shop;
    const [ada, eve] = [await shop.account(), await shop.account()];
    const [cheap, dear] = [await shop.order(ada), await shop.order(eve, "premium")];
    const event = stripe.pay(cheap.sessionId);
    (event.data as { object: Record<string, unknown> }).object.client_reference_id = dear.id;
    await shop.deliver(event);
    assertEquals([await shop.balance(ada), await shop.balance(eve)], [0, 0]);
    await shop.deliver(
      stripe.event("checkout.session.completed", stripe.sessions.get(cheap.sessionId)!),
    );
    // a second payment of an order is somebody's money: it is looked at
    const second = stripe.event("checkout.session.completed", {
      ...stripe.sessions.get(cheap.sessionId)!,
      payment_intent: "pi_second",
    });
    await shop.deliver(second);
    assertEquals([await shop.balance(ada), await shop.balance(eve)], [500, 0]);
    assertStringIncludes((await shop.again(cheap)).needsLook, "another payment");
    await shop.assertClean();
  },

  async "an event of the other mode changes nothing"(shop) {
    const { stripe } = shop;
    const ada = await shop.account();
    const order = await shop.order(ada);
    const event = stripe.pay(order.sessionId);
    await shop.deliver({ ...event, id: "evt_live", livemode: true });
    const live = structuredClone(event) as unknown as {
      id: string;
      data: { object: Record<string, unknown> };
    };
    live.id = "evt_inside";
    live.data.object.livemode = true;
    await shop.deliver(live as never);
    assertEquals([await shop.balance(ada), (await shop.again(order)).state], [0, "open"]);
    await shop.deliver(event);
    assertEquals(await shop.balance(ada), 500);
    await shop.assertClean();
  },

  async "an answer that was lost is asked for again, and makes one session"(shop) {
    const { stripe } = shop;
    const ada = await shop.account();
    for (const fault of ["reset", "500", "html"] as const) {
      const before = stripe.sessions.size;
      stripe.faults.push(fault);
      const order = await shop.order(ada);
      assertEquals(order.state, "open");
      assertEquals(stripe.sessions.size, before + 1, fault);
    }
  },

  async "the same form makes one order; another package under it is refused"(shop) {
    const { payments } = shop.gateway.gateway;
    const ada = await shop.account();
    const before = shop.stripe.sessions.size;
    const options = { origin: "console", reference: "form 1", returnTo: shop.gateway.url } as const;
    const both = await Promise.all([
      startCheckout(payments, ada, "starter", options),
      startCheckout(payments, ada, "starter", options),
    ]);
    assertEquals(new Set(both.map(({ order }) => order.id)).size, 1);
    assertEquals(new Set(both.map(({ url }) => url)).size, 1);
    assertEquals(shop.stripe.sessions.size, before + 1);
    await assertRejects(
      () => startCheckout(payments, ada, "premium", options),
      Error,
      "another package",
    );
    await shop.deliver(shop.stripe.pay(both[0]!.order.sessionId!));
    await assertRejects(
      () => startCheckout(payments, ada, "starter", options),
      Error,
      "This checkout is over",
    );
    await assertRejects(
      () => startCheckout(payments, ada, "enterprise", { ...options, reference: "2" }),
      Error,
      "not sold online",
    );
  },

  async "an operator refunds, once per reference, and never more than was paid"(shop) {
    const { payments } = shop.gateway.gateway;
    const ada = await shop.account();
    const order = await shop.buy(ada);
    const once = { amount: 99, reference: "R1" };
    await payments.refund(order, once);
    await payments.refund(order, once);
    assertEquals(await shop.balance(ada), 500 - Math.floor(500 * 99 / 499));
    await assertRejects(
      () => payments.refund(order, { amount: 401, reference: "R2" }),
      Error,
      "left",
    );
    const refunded = await payments.refund(order, { reference: "R3" });
    assertEquals([refunded.state, await shop.balance(ada)], ["refunded", 0]);
    await assertRejects(() => payments.refund(order, { reference: "R4" }), Error, "already");
    await shop.assertClean();
  },

  async "a landing page that is loaded again and again does not ask Stripe each time"(shop) {
    const ada = await shop.account();
    const order = await shop.order(ada);
    const { payments } = shop.gateway.gateway;
    const reads = () => shop.stripe.calls.filter((call) => call.startsWith("GET")).length;
    const readsBefore = reads();
    for (let at = 0; at < 60; at++) await payments.refresh(order);
    assertEquals(reads() - readsBefore, 20);
    const checkout = (reference: string) =>
      startCheckout(payments, ada, "starter", {
        origin: "console",
        reference,
        returnTo: "http://x",
      });
    await assertRejects(() => checkout("x".repeat(151)), Error, "reference");
    const before = shop.stripe.sessions.size;
    const started = await Promise.allSettled(
      Array.from({ length: 40 }, (_, at) => checkout(`${at}`)),
    );
    assert(started.some(({ status }) => status === "rejected"), "checkouts are limited");
    assert(shop.stripe.sessions.size - before < 40);
  },

  async "an order that expired here and was paid there is found by asking about it"(shop) {
    const { stripe, gateway } = shop;
    const ada = await shop.account();
    const order = await shop.order(ada);
    await shop.deliver(stripe.expire(order.sessionId));
    stripe.pay(order.sessionId);
    const expired = await shop.again(order);
    assertEquals((await gateway.gateway.payments.refresh(expired)).state, "expired");
    assertEquals((await gateway.gateway.payments.ask(expired)).state, "paid");
    assertEquals(await shop.balance(ada), 500);
    const other = await shop.order(ada);
    stripe.down = true;
    await assertRejects(() => gateway.gateway.payments.ask(other), Error, "payment service");
    await shop.assertClean();
  },
});

Deno.test("webhook, landing page and sweep may all bring the same payment", async () => {
  await using shop = await openShop();
  const { stripe, gateway } = shop;
  const { payments } = gateway.gateway;
  const ada = await shop.account();
  const order = await shop.order(ada);
  const event = stripe.pay(order.sessionId);
  await Promise.all([
    payments.refresh(order),
    send(gateway.url, event),
    payments.reconcile({ younger: true, eventsSinceMs: Date.now() - 60_000 }),
    payments.refresh(order),
  ]);
  assertEquals(await shop.balance(ada), 500);
  await shop.assertClean();
});

Deno.test("the sweep finds what webhooks have lost, refunds and disputes too", async () => {
  let skewMs = 0;
  await using shop = await openShop({ now: () => Date.now() + skewMs });
  const { stripe, gateway } = shop;
  const ada = await shop.account();
  const [order, bare] = [await shop.order(ada), await shop.order(ada, "standard")];
  stripe.pay(order.sessionId);
  stripe.expire(bare.sessionId);
  await gateway.gateway.paymentSweep.sweep();
  skewMs = 11 * 60_000;
  await gateway.gateway.paymentSweep.sweep();
  assertEquals(
    [(await shop.again(order)).state, (await shop.again(bare)).state, await shop.balance(ada)],
    ["paid", "expired", 500],
  );
  const { paymentId } = await shop.again(order);
  stripe.event("refund.created", stripe.refund(paymentId!));
  const found = await gateway.gateway.payments.reconcile({ eventsSinceMs: Date.now() - 60_000 });
  assertEquals([found.faults, await shop.balance(ada)], [[], 0]);
  await shop.assertClean();
});

Deno.test("money without an order, and news of payments that are nobody's, change nothing and are taken", async () => {
  await using shop = await openShop();
  const { stripe, gateway } = shop;
  const ada = await shop.account();
  const order = await shop.buy(ada);
  const session = stripe.sessions.get(order.sessionId!)!;
  const unknown = [
    stripe.event("invoice.paid", { id: "in_1", object: "invoice" }),
    stripe.event("customer.subscription.deleted", { id: "sub_1", object: "subscription" }),
    stripe.event("charge.refunded", { id: "ch_1", object: "charge", amount_refunded: 499 }),
    stripe.event("refund.created", {
      id: "re_other",
      object: "refund",
      amount: 5,
      currency: "usd",
      payment_intent: "pi_other",
      status: "succeeded",
    }),
    stripe.event("refund.created", {
      id: "re_bare",
      object: "refund",
      amount: 5,
      currency: "usd",
      payment_intent: null,
      status: "succeeded",
    }),
    stripe.event("charge.dispute.created", stripe.dispute(order.paymentId, "needs_response"), {
      data: { object: { id: "dp_odd", object: "dispute", amount: "much" } },
    }),
    stripe.event("checkout.session.completed", {
      ...session,
      id: "cs_test_other",
      client_reference_id: null,
      metadata: {},
    }),
    stripe.event("checkout.session.completed", {
      ...session,
      id: "cs_test_lost",
      client_reference_id: "ord_lost",
      metadata: { order_id: "ord_lost" },
    }),
  ];
  assertEquals(new Set(await shop.deliver(...unknown)), new Set([200]));
  assertEquals([await shop.balance(ada), (await shop.again(order)).state], [500, "paid"]);
  assertStringIncludes(gateway.log(), "payment without an order");
  const recorded = await gateway.gateway.database.all("select outcome from payment_events");
  assertEquals(recorded.length, unknown.length + 1);
  await shop.assertClean();
});

/** What the news of a payment say, other than its order. */
const DIFFERENCES: Readonly<Record<string, Record<string, unknown>>> = {
  "a lower amount": { amount_subtotal: 1, amount_total: 1 },
  "a discount": { amount_total: 99 },
  "another currency": { currency: "jpy" },
  "another session": { id: "cs_test_other" },
  "a subscription": { mode: "subscription" },
  "no payment": { payment_intent: null },
  "no payment required": { payment_status: "no_payment_required" },
  "another package": { metadata: { package: "premium" } },
  "more credits": { metadata: { credits: "500000" } },
  "another owner": { metadata: { account_id: "acc_other" } },
  "no metadata": { metadata: null },
  "a status that is open": { status: "open" },
};

shopTest(
  "a payment that differs from its order gives no credits",
  Object.fromEntries(
    Object.entries(DIFFERENCES).map(([what, change]) => [what, async (shop) => {
      const { stripe, gateway } = shop;
      const ada = await shop.account();
      const order = await shop.order(ada);
      const event = stripe.pay(order.sessionId);
      const logged = gateway.log().length;
      const session = (event.data as { object: Record<string, unknown> }).object;
      const { metadata, ...plain } = change;
      Object.assign(session, plain);
      if (metadata === null) session.metadata = {};
      else Object.assign(session.metadata as object, metadata);
      assertEquals(await shop.deliver(event), [200]);
      assertEquals([await shop.balance(ada), (await shop.again(order)).paidAtMs], [0, null]);
      await shop.assertClean();
      if (what === "a status that is open") return;
      assert((await shop.again(order)).needsLook !== "");
      assertStringIncludes(gateway.log().slice(logged), "payment needs a look");
      // the genuine news still count
      await shop.deliver(
        stripe.event("checkout.session.completed", stripe.sessions.get(order.sessionId)!),
      );
      assertEquals([await shop.balance(ada), (await shop.again(order)).state], [500, "paid"]);
      await shop.assertClean();
    }]),
  ),
);

Deno.test("with Stripe down, a checkout says so, nothing else is affected, and paying goes on later", async () => {
  await using shop = await openShop();
  const { stripe, gateway } = shop;
  const ada = await shop.account();
  const order = await shop.order(ada);
  stripe.down = true;
  const message = (await assertRejects(() => shop.order(ada), Error)).message;
  assertStringIncludes(message, "Nothing was charged");
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
  stripe.pay(order.sessionId);
  assertEquals((await gateway.gateway.payments.refresh(order)).state, "open");
  const { faults } = await gateway.gateway.payments.reconcile({ younger: true });
  assertEquals(faults.length, 1);
  stripe.down = false;
  await gateway.gateway.payments.reconcile({ younger: true });
  assertEquals(await shop.balance(ada), 500);
  await shop.assertClean();
});

Deno.test("an order has one checkout, however, from wherever and after whatever crash it is asked for", async () => {
  await using shop = await openShop();
  const { payments, database } = shop.gateway.gateway;
  const { stripe } = shop;
  const asks = fc.array(
    fc.record({
      returnTo: fc.constantFrom("https://one.example.com", "http://127.0.0.1:4000"),
      email: fc.constantFrom(undefined, "ada@example.com", "bob@example.com"),
      savesMethod: fc.constantFrom(undefined, false, true),
      /** The answer is lost, and the repeated call fails. */
      isLost: fc.boolean(),
      /** Killed before the session was noted. */
      isForgotten: fc.boolean(),
    }),
    { minLength: 2, maxLength: 5 },
  );
  await fc.assert(
    fc.asyncProperty(asks, async (asked) => {
      const ada = await shop.account();
      const before = stripe.sessions.size;
      const order = await payments.order(ada, "starter", { origin: "console", reference: "1" });
      for (const { isLost, isForgotten, ...options } of asked) {
        const current = await shop.again(order);
        if (isLost && current.sessionUrl === null) {
          stripe.faults.push(stripe.sessions.size > before ? "500" : "reset", "500");
          await assertRejects(() => payments.open(current, options), Error, "cannot be used");
          stripe.faults.length = 0;
        } else {
          const { url } = await payments.open(current, options);
          assertEquals(url, [...stripe.sessions.values()].at(-1)!.url);
        }
        assertEquals(stripe.sessions.size, before + 1);
        if (!isForgotten) continue;
        await database.batch([{
          sql: "update orders set session_url = null where id = ?",
          args: [order.id],
        }]);
      }
      const { order: last } = await payments.open(await shop.again(order), {
        returnTo: "http://x",
      });
      await shop.deliver(stripe.pay(last.sessionId!));
      assertEquals(await shop.balance(ada), 500);
    }),
    { numRuns: sized(4, 15) },
  );
  await shop.assertClean();
});

Deno.test("a payment by hand is an order with a receipt, and is refunded by hand", async () => {
  await using shop = await openShop();
  const { sales, payments, database } = shop.gateway.gateway;
  const ada = await shop.account();
  const { lotId } = await sales.sell(ada, sales.package("starter"), {
    paid: true,
    reference: "INV-1",
  });
  await sales.sell(ada, sales.package("starter"), { paid: false, reference: "gift" });
  const rows = await database.all(
    "select provider, amount, receipt, state, lot_id from orders order by provider",
  );
  assertEquals(rows.map((row) => ({ ...row })), [
    { provider: "gift", amount: 0, receipt: null, state: "paid", lot_id: rows[0]!.lot_id! },
    { provider: "manual", amount: 499, receipt: 1, state: "paid", lot_id: lotId },
  ]);
  const order = await shop.again({ id: `ord_${lotId.slice(4)}` } as never);
  const refunded = await payments.refund(order, { reference: "back" });
  await payments.refund(refunded, { reference: "back" });
  assertEquals([(await shop.again(order)).state, await shop.balance(ada)], ["refunded", 500]);
  await shop.assertClean();
});

Deno.test("credits that are lent to a gateway, and those that requests hold, go with a refund", async () => {
  await using shop = await openShop();
  const { stripe, gateway } = shop;
  const { database, keys, payments } = gateway.gateway;
  const ada = await shop.account();
  const order = await shop.buy(ada);
  const key = (await keys.issue(ada)).secret;
  for (let at = 0; at < 4; at++) {
    assertEquals(await statusOf(gateway.chat("Hi", {}, { key })), 200);
  }
  const [lent] = await database.all(
    "select sum(credits) as credits from loans where account_id = ?",
    [
      ada.id,
    ],
  );
  assert(Number(lent?.credits) > 0, "something is lent");
  const spent = 500 - await shop.balance(ada);
  await shop.deliver(stripe.event("refund.created", stripe.refund(order.paymentId)));
  assertEquals([await shop.balance(ada), await shop.debt(ada)], [0, spent]);
  assertEquals(await statusOf(gateway.chat("Hi", {}, { key })), 403);
  await shop.assertClean();

  const eve = await shop.account();
  const second = await shop.buy(eve);
  const [one, other] = [await shop.hold(eve, 120), await shop.hold(eve, 80)];
  await shop.deliver(stripe.event("refund.created", stripe.refund(second.paymentId)));
  assertEquals([await shop.balance(eve), await shop.debt(eve)], [200, 0]);
  await shop.assertClean();
  await shop.end(eve, one, 30); // of 120
  await shop.end(eve, other, 80);
  assertEquals((await payments.reconcile()).collected, 1);
  assertEquals([await shop.balance(eve), await shop.debt(eve)], [0, 110]);
  assertEquals((await payments.reconcile()).collected, 0);
  await shop.assertClean();
});
