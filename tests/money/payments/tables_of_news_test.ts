/** What news, orders and numbers come to, row by row, without a gateway: what is one off gives no credits. */

import type { Account } from "../../../src/people/accounts/mod.ts";
import { creditsOf } from "../../../src/money/ledger/mod.ts";
import { applyEvent, EVENT_TYPES } from "../../../src/money/payments/apply_event.ts";
import {
  intentFaults,
  orderMetadata,
  paidFaults,
  sessionFaults,
} from "../../../src/money/payments/check_session.ts";
import { eventsOfOrder, type Order, orderById } from "../../../src/money/payments/mod.ts";
import { checkRefund } from "../../../src/money/payments/refund.ts";
import { settlePayment } from "../../../src/money/payments/settle_payment.ts";
import { StripeError } from "../../../src/money/payments/stripe_client.ts";
import {
  checkoutSession,
  paymentIntent,
  stripeEvent,
} from "../../../src/money/payments/stripe_objects.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { DatabaseError } from "../../../src/ground/database/mod.ts";
import { DAY_MS } from "../../../src/ground/time.ts";
import { counter, PACKAGES, STARTER } from "./counter.ts";
import type { StripeObject } from "./fake_stripe.ts";
import { startCheckout, tryCode } from "./shop.ts";

const ORDER = {
  id: "ord_1",
  accountId: "acc_1",
  packageId: "starter",
  credits: 500,
  origin: "top_up",
  amount: 499,
  currency: "usd",
  livemode: false,
  sessionId: "cs_1",
} as Order;
const SESSION = checkoutSession.parse({
  object: "checkout.session",
  id: "cs_1",
  mode: "payment",
  livemode: false,
  status: "complete",
  payment_status: "paid",
  client_reference_id: "ord_1",
  currency: "usd",
  amount_subtotal: 499,
  amount_total: 499,
  payment_intent: "pi_1",
  metadata: orderMetadata(ORDER),
});
const INTENT = paymentIntent.parse({
  object: "payment_intent",
  id: "pi_1",
  livemode: false,
  status: "succeeded",
  amount: 499,
  amount_received: 499,
  currency: "usd",
  metadata: orderMetadata(ORDER),
});
const GIFT = { amount_subtotal: 0, amount_total: 0, payment_status: "no_payment_required" };

/** Each term that a session or intent may differ in, and what is said of it. */
const OTHER_TERMS: readonly [change: Record<string, unknown>, faults: readonly string[]][] = [
  [{}, []],
  [{ livemode: true }, ["livemode"]],
  ...Object.keys(orderMetadata(ORDER)).map((name) =>
    [{ metadata: { ...orderMetadata(ORDER), [name]: "another" } }, [`metadata.${name}`]] as [
      Record<string, unknown>,
      string[],
    ]
  ),
];
const OTHER_SESSIONS: typeof OTHER_TERMS = [
  ...OTHER_TERMS,
  [{ id: "cs_2" }, ["another session"]],
  [{ client_reference_id: "ord_2" }, ["client_reference_id"]],
  [{ mode: "subscription" }, ["mode"]],
];

Deno.test("a session or payment that differs from its order in one term is said to differ in that one", () => {
  const others: Readonly<Record<string, typeof OTHER_TERMS>> = {
    paid: [
      ...OTHER_SESSIONS,
      [{ status: "open" }, ["status"]],
      [{ payment_status: "no_payment_required" }, ["payment_status"]],
      [{ currency: "eur" }, ["currency"]],
      [{ amount_subtotal: 498 }, ["amount"]],
      [{ amount_subtotal: 500 }, ["amount"]],
      [{ amount_total: 498 }, ["amount_total"]],
      [{ amount_total: 600 }, []],
      [{ amount_total: undefined }, ["amount_total"]],
      [{ payment_intent: undefined }, ["payment_intent"]],
    ],
    session: [...OTHER_SESSIONS, [{ status: "open", amount_subtotal: 1, currency: "eur" }, []]],
    intent: [
      ...OTHER_TERMS,
      [{ currency: "eur" }, ["currency"]],
      [{ amount: 498 }, ["amount"]],
      [{ amount_received: 498 }, ["amount_received"]],
    ],
  };
  for (const [kind, rows] of Object.entries(others)) {
    for (const [change, faults] of rows) {
      const found = kind === "intent"
        ? intentFaults(ORDER, { ...INTENT, ...change })
        : (kind === "paid" ? paidFaults : sessionFaults)(ORDER, { ...SESSION, ...change });
      assertEquals(found, faults, `${kind} ${JSON.stringify(change)}`);
    }
  }
  assertEquals(intentFaults({ ...ORDER, origin: "console" }, INTENT), ["origin"]);
  assertEquals(paidFaults({ ...ORDER, sessionId: null }, { ...SESSION, id: "cs_2" }), []);
  assertEquals(paidFaults({ ...ORDER, amount: null }, SESSION), ["amount", "amount_total"]);
  const free = { ...SESSION, ...GIFT, payment_intent: undefined };
  assertEquals(paidFaults({ ...ORDER, amount: 0 }, free), []);
});

Deno.test("news come to their outcome, which is recorded with the event", async () => {
  await using one = await counter();
  const { news, database, stripe, logged } = one;
  const ada = await one.account();
  const bought = async (from: Partial<Order> = {}) => {
    const order = await one.order(ada, from);
    return { order, metadata: orderMetadata(order) };
  };
  let intents = 0;
  const intentOf = async (from: Partial<Order>, change: Record<string, unknown> = {}) => ({
    ...INTENT,
    id: `pi_${++intents}`,
    metadata: (await bought({ origin: "top_up", ...from })).metadata,
    ...change,
  });
  const sessionOf = async (change: Record<string, unknown> = {}) => {
    const { order, metadata } = await bought();
    const id = `cs_${order.id}`;
    return {
      ...SESSION,
      id,
      client_reference_id: order.id,
      metadata,
      payment_intent: id,
      ...change,
    };
  };
  const disputed = (await sessionOf()).payment_intent;
  const dispute = {
    object: "dispute",
    id: "dp_1",
    livemode: false,
    amount: 1,
    currency: "usd",
    payment_intent: disputed,
    status: "needs_response",
  };
  const [completed, failed] = [
    "checkout.session.completed",
    "checkout.session.async_payment_failed",
  ];
  const [succeeded, declined] = ["payment_intent.succeeded", "payment_intent.payment_failed"];
  const rows: [string, Record<string, unknown>, outcome: string, logs?: string, more?: object][] = [
    [completed, await sessionOf(), "applied", "info order paid"],
    [completed, await sessionOf({ payment_status: "unpaid" }), "no_effect"],
    [completed, await sessionOf({ status: "open" }), "no_effect"],
    [completed, await sessionOf({ livemode: true }), "no_effect"],
    [completed, await sessionOf({ amount_total: 1 }), "review", "error payment needs a look"],
    [completed, await sessionOf({ amount_total: -1 }), "no_effect", "error payment event not"],
    [completed, { ...SESSION, ...{ metadata: {} } }, "unknown"],
    [completed, { ...SESSION }, "unknown", "error payment without an order"],
    [completed, { ...SESSION, ...GIFT }, "unknown", "error payment without an order"],
    [completed, { ...SESSION, payment_status: "unpaid" }, "unknown"],
    [completed, await sessionOf(), "no_effect", "warn payment event of the other", {
      livemode: true,
    }],
    [failed, await sessionOf({ payment_status: "unpaid" }), "applied"],
    [
      failed,
      await sessionOf({ payment_status: "unpaid", mode: "setup" }),
      "review",
      "error payment n",
    ],
    [succeeded, await intentOf({}), "applied", "info order paid"],
    [succeeded, await intentOf({}, { livemode: true }), "no_effect"],
    [succeeded, await intentOf({}, { amount: 1 }), "review", "error payment needs a look"],
    [succeeded, await intentOf({}, { status: "processing" }), "no_effect"],
    [succeeded, await intentOf({}, { status: "canceled" }), "applied"],
    [succeeded, await intentOf({ origin: "console" }), "no_effect"],
    [succeeded, { ...INTENT, metadata: { order_id: "ord_none" } }, "unknown", "error payment wi"],
    [succeeded, { ...INTENT, metadata: {} }, "unknown"],
    [
      succeeded,
      { ...INTENT, metadata: { order_id: "ord_none" }, status: "processing" },
      "unknown",
    ],
    [declined, await intentOf({}, { status: "requires_payment_method" }), "applied"],
    ["charge.dispute.created", dispute, "unknown"],
    ["charge.dispute.created", { ...dispute, livemode: true }, "no_effect"],
    ["charge.dispute.created", { ...dispute, payment_intent: null }, "unknown"],
    [completed, await sessionOf({ payment_intent: "pi_sold" }), "applied", "info order paid"],
    ...["charge.dispute.created", "charge.dispute.closed"].map((type, at) =>
      [
        type,
        {
          ...dispute,
          id: `dp_${type}`,
          payment_intent: "pi_sold",
          currency: "eur",
          status: at === 0 ? "needs_response" : "lost",
        },
        "review",
        "error payment needs a look",
      ] as [string, Record<string, unknown>, string, string]
    ),
    [
      "refund.created",
      {
        object: "refund",
        id: "re_eur",
        amount: 499,
        currency: "eur",
        payment_intent: "pi_sold",
        status: "succeeded",
      },
      "review",
      "error payment needs a look",
    ],
    ["customer.created", { id: "cus_1", object: "customer" }, "no_effect"],
    ["invoice.upcoming", { object: "invoice" }, "no_effect"],
  ];
  for (const [type, object, outcome, logs, more] of rows) {
    const event = stripeEvent.parse(stripe.event(type, object as StripeObject, { ...more }));
    const what = `${type} ${JSON.stringify(object)}`;
    logged.length = 0;
    assertEquals((await applyEvent(news, event)).outcome, outcome, what);
    assertEquals([logged.length, logged[0]?.slice(0, logs?.length)], [logs ? 1 : 0, logs], what);
    const row = await database.one(
      "select outcome, object_id, livemode from payment_events where id = ?",
      [event.id],
    );
    const recorded = { outcome, object_id: object.id ?? "", livemode: event.livemode ? 1 : 0 };
    assertEquals<unknown>({ ...row }, recorded, what);
    assertEquals((await applyEvent(news, event)).outcome, "repeated", what);
    if (outcome !== "review") continue;
    assertEquals((await applyEvent(news, { ...event, id: `${event.id}_2` })).outcome, "review");
    assertEquals(logged.length, 1, "it is logged once");
  }
  assertEquals(EVENT_TYPES.length, new Set(EVENT_TYPES).size);
});

Deno.test("the log has each part of a payment that is given back, once", async () => {
  await using one = await counter();
  const { payments, news, stripe, logged } = one;
  const ada = await one.account();
  const options = { origin: "console", returnTo: "http://x", reference: "1" } as const;
  const { order } = await startCheckout(payments, ada, "starter", options);
  const told = async (event: StripeObject) => {
    logged.length = 0;
    assertEquals((await applyEvent(news, stripeEvent.parse(event))).outcome, "applied");
    return [...logged];
  };
  const paid = stripe.pay(order.sessionId!);
  assertEquals(await told(paid), ["info order paid"]);
  logged.length = 0;
  const again = await applyEvent(news, stripeEvent.parse({ ...paid, id: "evt_again" }));
  assertEquals([again.outcome, logged], ["repeated", []]);
  const { paymentId } = (await orderById(one.database, order.id))!;
  // the second leaves the order's state as it was, and the third its last cent
  for (const amount of [1, 1, 496]) {
    const refund = stripe.refund(paymentId!, amount);
    assertEquals(await told(stripe.event("refund.created", refund)), ["warn payment changed"]);
    assertEquals(await told(stripe.event("refund.updated", refund)), []);
  }
  // nor is more disputed when a dispute is lost
  const other = await startCheckout(payments, ada, "starter", { ...options, reference: "2" });
  await told(stripe.pay(other.order.sessionId!));
  const dispute = stripe.dispute(
    (await orderById(one.database, other.order.id))!.paymentId!,
    "needs_response",
  );
  for (const [type, status] of [["created", "needs_response"], ["closed", "lost"]] as const) {
    const event = stripe.event(`charge.dispute.${type}`, { ...dispute, status });
    assertEquals(await told(event), ["warn payment changed"], type);
  }
});

Deno.test("a payment pays one order; what is paid is not closed, and what was looked at stays so", async () => {
  await using one = await counter();
  const { payments, news, stripe, logged, database } = one;
  const ada = await one.account();
  const options = { origin: "console", returnTo: "http://x" } as const;
  const [order, other] = [
    (await startCheckout(payments, ada, "starter", { ...options, reference: "1" })).order,
    (await startCheckout(payments, ada, "starter", { ...options, reference: "2" })).order,
  ];
  const now = async ({ id }: Order) => (await orderById(database, id))!;
  const outcome = async (event: StripeObject) => {
    logged.length = 0;
    return (await applyEvent(news, stripeEvent.parse(event))).outcome;
  };
  assertEquals(await outcome(stripe.pay(order.sessionId!)), "applied");
  const { paymentId } = await now(order);
  stripe.pay(other.sessionId!);
  const session = { ...stripe.sessions.get(other.sessionId!)!, payment_intent: paymentId };
  const second = () => stripe.event("checkout.session.completed", session);
  assertEquals([await outcome(second()), logged], ["review", [
    "error payment needs a look: it differs from its order",
  ]]);
  assertEquals([(await now(other)).state, (await creditsOf(database, ada.id, 0)).balance], [
    "open",
    500,
  ]);
  // late news of an end
  assertEquals(await outcome(stripe.expire(order.sessionId!)), "applied");
  assertEquals((await now(order)).state, "paid");
  const kinds = async (of: Order) =>
    (await eventsOfOrder(database, of.id)).map(({ kind }) => kind).toSorted();
  assertEquals(await kinds(order), ["paid", "session"]);
  // only what is new needs a look
  const needsLook = async () => (await now(other)).needsLook !== "";
  assertEquals(await needsLook(), true);
  await payments.looked(other);
  assertEquals([await needsLook(), await kinds(other)], [false, ["looked", "review", "session"]]);
  assertEquals([await outcome(second()), await needsLook()], ["review", false]);
  const third = { ...session, payment_intent: "pi_third", amount_total: 1 };
  await outcome(stripe.event("checkout.session.completed", { ...third, id: "cs_third" }));
  assertEquals(await needsLook(), true);
  await assertRejects(
    () =>
      settlePayment(database, {
        orderId: "ord_none",
        paymentId: "pi_none",
        amount: 1,
        bonusCredits: 0,
        isPayment: true,
        atMs: 1,
      }),
    Error,
    "Unknown order ord_none",
  );
});

Deno.test("a refund and a dispute have the rank of their status and of their event's type", async () => {
  await using one = await counter();
  const { news, stripe, database } = one;
  const rows: [kind: "refund" | "dispute", status: string, type: string, rank: number][] = [
    ["refund", "pending", "refund.created", 0],
    ["refund", "succeeded", "refund.updated", 1],
    ["refund", "failed", "refund.failed", 2],
    ["refund", "canceled", "refund.updated", 2],
    ["dispute", "warning_needs_response", "charge.dispute.created", 0],
    ["dispute", "prevented", "charge.dispute.created", 0],
    ["dispute", "needs_response", "charge.dispute.created", 1],
    ["dispute", "warning_closed", "charge.dispute.funds_withdrawn", 1],
    ["dispute", "lost", "charge.dispute.funds_reinstated", 2],
    ["dispute", "won", "charge.dispute.closed", 3],
    ["dispute", "under_review", "charge.dispute.funds_reinstated", 3],
  ];
  for (const [at, [object, status, type, rank]] of rows.entries()) {
    const id = `${object}_${at}`;
    const terms = { amount: 1, currency: "usd", livemode: false, payment_intent: `pi_${at}` };
    await applyEvent(news, stripeEvent.parse(stripe.event(type, { id, object, status, ...terms })));
    const row = await database.one("select rank from payment_facts where id = ?", [id]);
    assertEquals(row?.rank, rank, `${status} ${type}`);
  }
});

Deno.test("numbers and texts of payments are accepted up to their bounds", async () => {
  await using one = await counter();
  const { payments, codes, clock } = one;
  const ada = await one.account();
  const topUp = (change: object) => () =>
    payments.turnOnTopUp(ada, { belowCredits: 1, packageId: "starter", maxPerMonth: 1, ...change });
  const ordered = (reference: string) => () =>
    payments.order(ada, "starter", { origin: "console", reference });
  const made = (change: object) => () => codes.make({ credits: 1, ...change });
  const PAID = {
    ...ORDER,
    paymentId: "pi_1",
    paidAtMs: 1,
    paidAmount: 499,
    state: "paid",
  } as Order;
  const refunded = (change: object, order: Partial<Order> = {}) => () =>
    Promise.resolve().then(() => checkRefund({ ...PAID, ...order }, { reference: "r", ...change }));
  const byHand = await one.order(ada, { provider: "manual" });
  const back = (amount: number | undefined, goneAmount: number) => () =>
    payments.refund({ ...byHand, ...PAID, id: byHand.id, provider: "manual", goneAmount }, {
      amount,
      reference: `${amount} of ${goneAmount}`,
    });
  const text = (chars: number) => "x".repeat(chars);
  const rows: [what: () => Promise<unknown>, why?: string][] = [
    [topUp({})],
    [topUp({ belowCredits: 500, maxPerMonth: 100 })],
    [topUp({ belowCredits: 0 }), "at least 1 credit"],
    [topUp({ belowCredits: 1e12 + 1 }), "at least 1 credit"],
    [topUp({ belowCredits: 501 }), "not be above the 500 credits"],
    [topUp({ belowCredits: 1e12 }), "not be above the 500 credits"],
    [topUp({ maxPerMonth: 0 }), "1 to 100"],
    [topUp({ maxPerMonth: 101 }), "1 to 100"],
    [topUp({ packageId: "asked" }), "not sold online"],
    [topUp({ packageId: "unpriced" }), "not sold online"],
    [topUp({ packageId: "none" }), "Unknown package"],
    [ordered("x")],
    [ordered(text(150))],
    [ordered(""), "1 to 150"],
    [ordered(text(151)), "1 to 150"],
    [ordered("a\u202eb"), "reference"],
    ...["asked", "unpriced", "free"].map((id): typeof rows[number] => [
      () => payments.order(ada, id, { origin: "console", reference: id }),
      "not sold online",
    ]),
    [made({ credits: 1e12 })],
    [made({ credits: undefined }), "Specify a package"],
    [made({ credits: 0 }), "must be 1 to"],
    [made({ credits: 1.5 }), "must be 1 to"],
    [made({ credits: 1e12 + 1 }), "must be 1 to"],
    [made({ count: 1_000 })],
    [made({ count: 0 }), "number of codes"],
    [made({ count: 1.5 }), "number of codes"],
    [made({ count: 1_001 }), "number of codes"],
    [made({ validDays: 1 })],
    [made({ validDays: 0 }), "lifetime"],
    [made({ validDays: 1.5 }), "lifetime"],
    [made({ expiresAtMs: clock.nowMs + 1 })],
    [made({ expiresAtMs: clock.nowMs }), "in the future"],
    [made({ note: text(500) })],
    [made({ note: text(501) }), "limit is 500"],
    [made({ note: "a\u202eb" }), "note"],
    [made({ codes: [{ id: "code_1", code: "A" }] })],
    [made({ codes: [{ id: "code_1", code: "B" }] }), "made already"],
    [back(99, 400)],
    [back(undefined, 498)],
    [back(100, 400), "more than is left"],
    [back(undefined, 499), "refunded already"],
    [refunded({})],
    [refunded({ reference: text(200), amount: 1 })],
    [refunded({ reference: "" }), "1 to 200"],
    [refunded({ reference: text(201) }), "1 to 200"],
    [refunded({ amount: 0 }), "more than 0"],
    [refunded({ amount: 1.5 }), "more than 0"],
    [refunded({}, { paymentId: null }), "nothing to refund"],
    [refunded({}, { paidAtMs: null }), "nothing to refund"],
    [refunded({}, { paidAmount: null }), "is not recorded"],
    [refunded({}, { paidAmount: 0 }), "is not recorded"],
    [refunded({}, { state: "disputed" }), "is disputed"],
    [refunded({}, { state: "charged_back" }), "is disputed"],
  ];
  for (const [work, why] of rows) {
    if (why === undefined) await work();
    else await assertRejects(work, Error, why);
  }
});

Deno.test("of an order only what may have been paid here is asked about", async () => {
  await using one = await counter();
  const { payments, stripe, clock } = one;
  const ada = await one.account();
  const calls = () => stripe.calls.length;
  const session = (await startCheckout(payments, ada, "starter", {
    origin: "console",
    reference: "session",
    returnTo: "http://x",
  })).order.sessionId!;
  const intent = stripe.pay(session).data as { object: { payment_intent: string } };
  const rows: [from: Partial<Order>, isAsked: boolean, state?: string][] = [
    [{ provider: "manual", sessionId: "cs_manual" }, false],
    [{ livemode: true, sessionId: "cs_live" }, false],
    [{ origin: "top_up", sessionId: null }, false],
    [{ origin: "top_up", sessionId: intent.object.payment_intent }, true],
    [{ origin: "top_up", createdAtMs: clock.nowMs - DAY_MS + 1 }, false],
    [{ origin: "top_up", createdAtMs: clock.nowMs - DAY_MS }, false, "expired"],
    [{ createdAtMs: clock.nowMs - DAY_MS + 1 }, false],
    [{ createdAtMs: clock.nowMs - DAY_MS }, false, "expired"],
  ];
  for (const [from, isAsked, state = "open"] of rows) {
    const order = await one.order(ada, from);
    const before = calls();
    assertEquals((await payments.ask(order)).state, state, JSON.stringify(from));
    assertEquals(calls() > before, isAsked, JSON.stringify(from));
  }
  const order = await orderById(
    one.database,
    (await payments.orderOf(ada, {
      origin: "console",
      reference: "session",
    }))!.id,
  );
  assertEquals((await payments.ask(order!)).state, "paid");
  const before = calls();
  assertEquals((await payments.ask((await orderById(one.database, order!.id))!)).state, "paid");
  assertEquals(calls(), before, "what was paid is not asked about");
});

Deno.test("a sweep asks about orders between ten minutes and thirty days old; younger ones when told", async () => {
  await using one = await counter();
  const { payments, clock } = one;
  const ada = await one.account();
  const ages = [0, 600_000, 600_001, 700_000, 30 * DAY_MS, 30 * DAY_MS + 1];
  for (const ageMs of ages) await one.order(ada, { createdAtMs: clock.nowMs - ageMs });
  await one.order(ada, { createdAtMs: clock.nowMs - DAY_MS, livemode: true });
  await one.order(ada, { createdAtMs: clock.nowMs - DAY_MS, provider: "manual" });
  // of those that expire here, the one of 30 days changes
  assertEquals(await payments.reconcile(), {
    asked: 3,
    changed: 1,
    events: 0,
    collected: 0,
    orphans: [],
    faults: [],
  });
  assertEquals((await payments.reconcile({ younger: true })).asked, 4);
});

Deno.test("a failure of the service is told of; any other is thrown, wherever it comes from", async () => {
  await using one = await counter();
  const { payments, stripe, failing, clock, logged } = one;
  const ada = await one.account();
  const options = { origin: "console", returnTo: "http://x" } as const;
  const { order } = await startCheckout(payments, ada, "starter", { ...options, reference: "1" });
  stripe.pay(order.sessionId!);
  clock.nowMs += 20 * 60_000;
  stripe.clockMs = 20 * 60_000;
  const fresh = await one.order(ada);
  await payments.turnOnTopUp(ada, { belowCredits: 1, packageId: "starter", maxPerMonth: 1 });
  const works: Record<string, [work: () => Promise<unknown>, failing: "all" | "batch"]> = {
    refresh: [() => payments.refresh(order), "batch"],
    ask: [() => payments.ask(order), "batch"],
    reconcile: [() => payments.reconcile(), "batch"],
    events: [() => payments.reconcile({ limit: 0, eventsSinceMs: 0 }), "batch"],
    open: [() => payments.open(fresh, { returnTo: "http://x" }), "batch"],
    topUps: [() => payments.runTopUps(), "all"],
  };
  for (const [what, [work, on]] of Object.entries(works)) {
    failing.on = on;
    await assertRejects(work, TypeError, "a fault of ours");
    failing.on = "";
    stripe.down = true;
    logged.length = 0;
    const said = await work().then((value) => JSON.stringify(value), String);
    const rejects = what === "ask" || what === "open";
    assertEquals(said.includes("AccountError"), rejects, `${what}: ${said}`);
    if (what === "reconcile" || what === "events") assert(said.includes("500"), said);
    if (what === "refresh") assertEquals(logged, ["warn order not refreshed"]);
    stripe.down = false;
  }
});

Deno.test("work on many ends at the first failure of the service, and goes on after one of a single call", async () => {
  await using one = await counter();
  const { payments, stripe, clock, logged, database } = one;
  const accounts = [await one.account(), await one.account(), await one.account()];
  for (const account of accounts) {
    await one.order(account, {
      sessionId: `cs_of_${account.id}`,
      createdAtMs: clock.nowMs - DAY_MS,
    });
    await payments.turnOnTopUp(account, { belowCredits: 1, packageId: "starter", maxPerMonth: 1 });
  }
  await database.batch([{
    sql: "update top_ups set customer_id = 'cus_nobody', payment_method_id = 'pm_nobody'",
  }]);
  const postponed = () => logged.filter((one) => one === "warn automatic top-up postponed").length;
  stripe.down = true;
  const { asked, faults } = await payments.reconcile();
  assertEquals([asked, faults.length], [1, 1]);
  assertEquals([await payments.runTopUps(), postponed()], [0, 1]);
  stripe.down = false;
  const later = await payments.reconcile();
  assertEquals([later.asked, later.faults.length], [3, 3]);
  assertEquals([await payments.runTopUps(), postponed()], [3, 1]);
});

Deno.test("without the service nothing is sold and nothing asked about, and what there is stays as it is", async () => {
  await using one = await counter();
  const { stripe, clock } = one;
  const ada = await one.account();
  const order = await one.order(ada, { createdAtMs: clock.nowMs - DAY_MS });
  const offline = one.offline();
  assertEquals([offline.isOnline, offline.currency, offline.priceOf(STARTER)], [
    false,
    "usd",
    null,
  ]);
  assertEquals(offline.webhook(new Request("http://x", { method: "POST" })), undefined);
  assertEquals(await offline.refresh(order), order);
  const found = await offline.reconcile({ eventsSinceMs: 0 });
  assertEquals([found.asked, found.events, found.faults], [0, 0, []]);
  assertEquals(await offline.runTopUps(), 0);
  await offline.swept();
  assertEquals(await one.database.all("select name from payment_contacts"), []);
  await one.payments.swept();
  assertEquals((await one.database.all("select name from payment_contacts")).length, 1);
  await assertRejects(() => offline.ask(order), Error, "not configured");
  await assertRejects(
    () => offline.order(ada, "starter", { origin: "console", reference: "x" }),
    Error,
    "not configured",
  );
  assertEquals([
    one.payments.priceOf(STARTER),
    ...PACKAGES.slice(1).map((offer) => one.payments.priceOf(offer)),
  ], [499, null, null, null, 499]);
  assertEquals(one.keyless().isOnline, false);
  assertEquals(stripe.calls, []);
});

Deno.test("below its mark an account buys once in a run, so often a month, and what was paid is counted", async () => {
  await using one = await counter();
  const { payments, accounts, news, stripe, database, clock, logged } = one;
  const [ada, eve] = [await one.account(), await one.account()];
  const turnOn = (account: Account) =>
    payments.turnOnTopUp(account, { belowCredits: 500, packageId: "starter", maxPerMonth: 2 });
  for (const account of [ada, eve]) {
    await turnOn(account);
    const options = { returnTo: "http://x", savesMethod: true } as const;
    const request = { origin: "console", reference: "1" } as const;
    const { order } = await startCheckout(payments, account, "starter", { ...request, ...options });
    await applyEvent(news, stripeEvent.parse(stripe.pay(order.sessionId!)));
  }
  /** What a run buys when an account has so many credits, and how many payments there are then. */
  const bought = async (account: Account, credits: number) => {
    await database.batch([{
      sql: "update balances set balance = ? where account_id = ?",
      args: [credits, account.id],
    }]);
    return [await payments.runTopUps(), stripe.intents.size - 2];
  };
  assertEquals(await bought(ada, 500), [0, 0], "at the mark");
  assertEquals(await bought(ada, 499), [1, 1]);
  assertEquals(await bought(ada, 0), [1, 2]);
  assertEquals(await bought(ada, 0), [0, 2], "two a month");
  await accounts.disable(eve.email);
  assertEquals(await bought(eve, 0), [0, 2], "it is disabled");
  await accounts.enable(eve.email);
  stripe.declines = true;
  logged.length = 0;
  assertEquals([await bought(eve, 0), await bought(eve, 0)], [[0, 3], [0, 3]], "declined, once");
  assertEquals(logged, ["error automatic top-up stopped"]);
  assertEquals((await payments.topUp(eve))?.stopped, "The payment failed (card declined)");
  stripe.declines = false;
  stripe.leaves = "requires_action";
  clock.nowMs += 1;
  await turnOn(eve);
  assertEquals([await bought(eve, 0), await bought(eve, 0)], [[0, 4], [0, 4]], "nobody is there");
  const { stopped } = (await payments.topUp(eve))!;
  assertEquals(stopped, "The payment failed (it is requires action)");
  stripe.leaves = undefined;
  clock.nowMs += 32 * DAY_MS;
  assertEquals(await bought(ada, 0), [1, 5], "another month");
  await payments.turnOffTopUp(ada);
  assertEquals(await bought(ada, 0), [0, 5]);
  await turnOn(eve);
  assertEquals(await bought(eve, 0), [1, 6]);
  assertEquals((await payments.topUp(eve))?.stopped, "");
  assertEquals((await payments.topUp(eve))?.isOn, true);
});

Deno.test("what another gateway has bought since the balance was read is not bought again", async () => {
  await using one = await counter();
  const { payments, news, stripe, database } = one;
  const ada = await one.account();
  await payments.turnOnTopUp(ada, { belowCredits: 100, packageId: "starter", maxPerMonth: 9 });
  const options = { returnTo: "http://x", savesMethod: true, reference: "1" } as const;
  const { order } = await startCheckout(payments, ada, "starter", {
    origin: "console",
    ...options,
  });
  await applyEvent(news, stripeEvent.parse(stripe.pay(order.sessionId!)));
  await database.batch([{ sql: "update balances set balance = 0" }]);
  const slow = one.paymentsAt({
    ...database,
    all: async (sql, args) => {
      if (/'top_up' and state = 'open'/.test(sql)) assertEquals(await payments.runTopUps(), 1);
      return await database.all(sql, args);
    },
  });
  assertEquals([await slow.runTopUps(), stripe.intents.size], [0, 2]);
});

Deno.test("events are read page by page, as far as they go", async () => {
  await using one = await counter();
  const { stripe, client, payments, logged } = one;
  for (const count of [0, 100, 101, 1_000, 1_001]) {
    while (stripe.events.length < count) stripe.event("customer.created", { id: `c${count}` });
    const { events, isWhole } = await client.events(0);
    assertEquals([events.length, isWhole], [Math.min(count, 1_000), count <= 1_000], `${count}`);
  }
  await payments.reconcile({ eventsSinceMs: 0 });
  assertEquals(logged, [], "what else is sold is not asked for");
  for (const one of stripe.events) Object.assign(one, { type: "refund.created", data: null });
  await payments.reconcile({ eventsSinceMs: 0 });
  assertEquals(logged, ["warn not all events were read"]);
  stripe.events.length = 2;
  await payments.reconcile({ eventsSinceMs: 0 });
  assertEquals(logged.length, 1);
  // those that say something are counted, once
  stripe.events.push({ id: "evt_unreadable", created: 1, type: "refund.created" });
  for (const id of ["re_1", "re_2"]) {
    const terms = {
      amount: 1,
      currency: "usd",
      payment_intent: `pi of ${id}`,
      status: "succeeded",
    };
    stripe.event("refund.created", { id, object: "refund", ...terms });
  }
  for (const events of [2, 0]) {
    assertEquals((await payments.reconcile({ eventsSinceMs: 0 })).events, events);
  }
  const recorded = await one.database.all("select type from payment_events");
  assertEquals(recorded.map(({ type }) => type), ["refund.created", "refund.created"]);
  // as after a backup was restored: orders that were made since are gone, and their payments are named once
  const metadata = { order_id: "ord_gone" };
  const sold = { ...SESSION, id: "cs_gone", client_reference_id: "ord_gone", metadata };
  stripe.event("payment_intent.succeeded", { ...INTENT, id: "pi_gone", metadata } as StripeObject);
  stripe.event(
    "checkout.session.completed",
    { ...sold, payment_intent: "pi_gone" } as StripeObject,
  );
  for (const orphans of [["pi_gone"], []]) {
    assertEquals((await payments.reconcile({ eventsSinceMs: 0 })).orphans, orphans);
  }
});

Deno.test("codes that are unknown are none, and each is found by its ID and as it is typed", async () => {
  await using one = await counter();
  const { codes, clock } = one;
  const ada = await one.account();
  const [first] = await codes.make({ credits: 3, count: 1, validDays: 2 });
  clock.nowMs++;
  const rest = await codes.make({ credits: 4, count: 2 });
  assertEquals([await codes.byId("code_none"), await codes.find("none")], [undefined, undefined]);
  assertEquals((await codes.byId(first!.id))?.credits, 3);
  const typed = ` ${first!.code.toLowerCase()} `;
  assertEquals(await codes.find(typed), await codes.byId(first!.id));
  const newest = [...rest.map(({ id }) => id).toSorted(), first!.id];
  const ids: string[] = [];
  for (let page = await codes.list({ limit: 1 }); page.length > 0;) {
    ids.push(...page.map(({ id }) => id));
    page = await codes.list({ limit: 1, after: page[0] });
  }
  assertEquals(ids, newest);
  await assertRejects(() => codes.revoke("code_none"), Error, "Unknown code ID");
  await codes.revoke(rest[0]!.id);
  const at = (await codes.byId(rest[0]!.id))!.revokedAtMs;
  clock.nowMs++;
  await codes.revoke(rest[0]!.id);
  assertEquals((await codes.byId(rest[0]!.id))!.revokedAtMs, at);
  await assertRejects(() => tryCode(codes, ada, rest[0]!.code, "c"), Error, "not valid");
  const eve = await one.account();
  await assertRejects(() => tryCode(codes, eve, "WRONG", "d"), Error, "not valid");
  const { expiresAtMs } = await tryCode(codes, ada, first!.code, "c");
  // of two at one moment the second gets nothing, and what each has tried is its own
  await assertRejects(() => tryCode(codes, eve, first!.code, "d"), Error, "not valid");
  assertEquals((await creditsOf(one.database, eve.id, clock.nowMs)).balance, 0);
  const tries = await one.database.all("select tried_by, tries from code_tries order by tries");
  assertEquals(tries.map(({ tried_by, tries }) => [tried_by, tries]), [
    [`account ${ada.id}`, 1],
    ["client c", 1],
    [`account ${eve.id}`, 2],
    ["client d", 2],
  ]);
  assertEquals(expiresAtMs, clock.nowMs + 2 * DAY_MS);
  assertEquals((await tryCode(codes, ada, rest[1]!.code, "c")).expiresAtMs, null);
  await assertRejects(() => codes.revoke(first!.id), Error, "redeemed already");
});

Deno.test("a code has the terms of its package, until it expires; a fault of the database is none of the code's", async () => {
  await using one = await counter();
  const { codes, clock, database } = one;
  const ada = await one.account();
  clock.nowMs = Date.UTC(2030, 0, 1, 12);
  const offer = { ...STARTER, validDays: 5, models: ["svc-k2"] };
  const expiresAtMs = clock.nowMs + 10;
  const [made, late, plain] = [
    ...await codes.make({ offer, expiresAtMs, validDays: 9, count: 2 }),
    ...await codes.make({ credits: 7 }),
  ];
  const terms = async ({ id }: { readonly id: string }) => {
    const { packageId, credits, validDays, models, expiresAtMs } = (await codes.byId(id))!;
    return [packageId, credits, validDays, models, expiresAtMs];
  };
  assertEquals(await terms(made!), ["starter", 500, 5, ["svc-k2"], expiresAtMs]);
  assertEquals(await terms(plain!), [null, 7, null, null, null]);
  clock.nowMs = expiresAtMs - 1;
  await tryCode(codes, ada, made!.code, "c");
  await tryCode(codes, ada, plain!.code, "c");
  const { lots } = await creditsOf(database, ada.id, clock.nowMs);
  assertEquals(lots.map(({ granted, models }) => [granted, models]), [[500, ["svc-k2"]], [
    7,
    null,
  ]]);
  clock.nowMs = expiresAtMs;
  await assertRejects(() => tryCode(codes, ada, late!.code, "c"), Error, "not valid");
  // one's own code again counts as wrong, and what was wrong in another hour stays counted there
  await assertRejects(() => tryCode(codes, ada, made!.code, "c"), Error, "not valid");
  const tries = async () =>
    (await database.all(
      "select tries from code_tries where tried_by = 'client c' order by window_at_ms",
    ))
      .map(({ tries }) => tries);
  assertEquals(await tries(), [2]);
  clock.nowMs += 3_600_000;
  const [next] = await codes.make({ credits: 7 });
  await tryCode(codes, ada, next!.code, "c");
  assertEquals(await tries(), [2]);
  for (const error of [new TypeError("ours"), new DatabaseError("SQLITE_FULL", "its own")]) {
    const failing = { ...database, batch: () => Promise.reject(error) };
    const thrown = await assertRejects(() => one.codesAt(failing).make({ credits: 1 }), Error);
    assert(thrown === error);
  }
});

Deno.test("the same call may succeed later when there was no reply, a failure of the service, or too many calls", () => {
  const later = [0, 400, 402, 408, 409, 410, 428, 429, 430, 499, 500, 501, 599].filter((status) =>
    new StripeError(status, "", "").isPassing
  );
  assertEquals(later, [0, 409, 429, 500, 501, 599]);
});

Deno.test("customers are sent to addresses with TLS only, or to that of the service itself", async () => {
  await using one = await counter();
  const { client, stripe } = one;
  for (
    const [address, isGood] of [
      ["https://pay.example.com/1", true],
      [`${stripe.url}/1`, true],
      ["http://pay.example.com/1", false],
      ["https://eve@pay.example.com/1", false],
      ["https://:secret@pay.example.com/1", false],
      ["no address", false],
    ] as const
  ) assertEquals(client.isCheckoutAddress(address), isGood, address);
});
