/** What the service may reply, and what becomes of a call, of an order and of a refund then. */

import { Secret } from "../../../src/settings/config/mod.ts";
import { openCheckout } from "../../../src/money/payments/checkout.ts";
import { type Order, orderById } from "../../../src/money/payments/mod.ts";
import { settlePayment } from "../../../src/money/payments/settle_payment.ts";
import {
  isServiceDown,
  StripeClient,
  StripeError,
} from "../../../src/money/payments/stripe_client.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { counter } from "./counter.ts";

/** A service that replies the same to each call, and a client of it. */
function replying(status: number, body: unknown) {
  let calls = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    calls++;
    return new Response(typeof body === "string" ? body : JSON.stringify(body), { status });
  });
  return {
    client: new StripeClient({
      apiBase: `http://127.0.0.1:${server.addr.port}/`,
      secretKey: new Secret("sk_test_1"),
    }),
    calls: () => calls,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const SESSION = {
  object: "checkout.session",
  id: "cs_1",
  mode: "payment",
  livemode: false,
  payment_status: "unpaid",
};

Deno.test("a reply is a success, a failure that is told, or unreadable; only what may pass is tried again", async () => {
  const rejected = "The payment service rejected the call with";
  const rows: readonly [status: number, body: unknown, calls: number, message?: string][] = [
    [200, SESSION, 1],
    [299, SESSION, 1],
    [300, SESSION, 1, `${rejected} 300 http_300`],
    [200, {}, 2, "The payment service sent an unreadable response"],
    [400, "no JSON", 1, `${rejected} 400 http_400`],
    [400, { error: { type: "invalid_request_error" } }, 1, `${rejected} 400 invalid_request_error`],
    [
      402,
      { error: { type: "card_error", code: "declined", message: "with  sk_test_9\nand whsec_9" } },
      1,
      `${rejected} 402 declined: with [secret] and [secret]`,
    ],
    [500, {}, 2, `${rejected} 500 http_500`],
  ];
  for (const [status, body, calls, message] of rows) {
    await using one = replying(status, body);
    const work = () => one.client.session("cs_1");
    if (message === undefined) assertEquals((await work()).id, "cs_1");
    else assertEquals((await assertRejects(work, StripeError)).message, message);
    assertEquals(one.calls(), calls, `${status} ${JSON.stringify(body)}`);
  }
});

Deno.test("a service that is away is said to be so, without what the call was made with", async () => {
  const one = replying(200, {});
  await one[Symbol.asyncDispose]();
  const error = await assertRejects(() => one.client.session("cs_1"), StripeError);
  assertEquals([error.status, error.isPassing], [0, true]);
  assert(/cannot be reached \(\w+\)$/.test(error.message), error.message);
});

Deno.test("a page of events without anything to go on from is the last one that is read", async () => {
  for (const data of [[], ["x"], [null], [{}], [{ id: 7 }]]) {
    await using one = replying(200, { object: "list", data, has_more: true });
    assertEquals(await one.client.events(0), { events: data, isWhole: false });
    assertEquals(one.calls(), 1, JSON.stringify(data));
  }
});

Deno.test("the service is down if an error is its passing failure, or was caused by one", () => {
  const [away, bad] = [new StripeError(500, "x", "x"), new StripeError(400, "x", "x")];
  const rows: readonly [error: unknown, isDown: boolean][] = [
    [away, true],
    [bad, false],
    [new Error("x", { cause: away }), true],
    [new Error("x", { cause: bad }), false],
    [new Error("x", { cause: "away" }), false],
    [new Error("x"), false],
    [{ cause: away }, false],
    ["away", false],
    [undefined, false],
  ];
  for (const [error, isDown] of rows) assertEquals(isServiceDown(error), isDown);
});

Deno.test("a checkout leads to a safe address, and ends only with its order, or if the service will never make it", async () => {
  await using one = await counter();
  const { database, news, client, stripe } = one;
  const ada = await one.account();
  const elsewhere = "https://pay.example.com/1";
  const asked = (code: string, status = 400) => () =>
    Promise.reject(new StripeError(status, code, "x"));
  const replied = (url: string | null) => () => Promise.resolve({ ...SESSION, url });
  const rows: readonly [
    reply: () => Promise<unknown>,
    /** What another gateway does meanwhile. */
    meanwhile: string | undefined,
    url: string | undefined,
    state: string,
  ][] = [
    [replied(elsewhere), undefined, elsewhere, "open"],
    [replied(`${stripe.url}/1`), undefined, `${stripe.url}/1`, "open"],
    [replied("http://pay.example.com/1"), undefined, undefined, "open"],
    [replied(null), undefined, undefined, "open"],
    [asked("idempotency_error"), `session_url = '${elsewhere}'`, elsewhere, "open"],
    [asked("idempotency_error"), undefined, undefined, "open"],
    [
      asked("idempotency_error"),
      `session_url = '${elsewhere}', state = 'paid'`,
      undefined,
      "paid",
    ],
    [asked("parameter_invalid"), undefined, undefined, "failed"],
    [asked("parameter_invalid"), `session_url = '${elsewhere}'`, undefined, "failed"],
    [asked("api_error", 500), undefined, undefined, "open"],
  ];
  let sessions = 0;
  for (const [at, [reply, meanwhile, url, state]] of rows.entries()) {
    const order = await one.order(ada);
    const parts = {
      ...news,
      currency: "usd",
      client: {
        isCheckoutAddress: (address: string) => client.isCheckoutAddress(address),
        createSession: async () => {
          if (meanwhile !== undefined) {
            const sql = `update orders set ${meanwhile} where id = ?`;
            await database.batch([{ sql, args: [order.id] }]);
          }
          return { ...await reply() as object, id: `cs_${++sessions}` };
        },
      } as unknown as StripeClient,
    };
    const opened = await openCheckout(parts, order, { returnTo: "http://x" })
      .then(({ url }) => url, String);
    if (url === undefined) assertStringIncludes(opened, "cannot be used right now", `${at}`);
    else assertEquals(opened, url, `${at}`);
    assertEquals((await orderById(database, order.id))?.state, state, `${at}`);
  }
});

Deno.test("a checkout is made of an order that is younger than 25 minutes, and an account has twenty of them in an hour", async () => {
  await using one = await counter();
  const { payments, database, clock } = one;
  for (const [lateMs, isOpened] of [[0, true], [1, false]] as const) {
    const createdAtMs = clock.nowMs - 25 * 60_000 - lateMs;
    const order = await one.order(await one.account(), { createdAtMs });
    const opened = payments.open(order, { returnTo: "http://x" }).then(() => true, () => false);
    assertEquals(await opened, isOpened);
  }
  const rows: readonly [state: string, ageMs: number, isFull: boolean][] = [
    ["open", 3_599_999, true],
    ["failed", 0, true],
    ["open", 3_600_000, false],
    ["expired", 0, false],
  ];
  for (const [state, ageMs, isFull] of rows) {
    const account = await one.account();
    const makes = async (reference: string) =>
      await payments.order(account, "starter", { origin: "console", reference })
        .then(() => true, (error) => {
          assertStringIncludes(String(error), "Too many");
          return false;
        });
    for (let at = 0; at < 19; at++) {
      await one.order(account, { createdAtMs: clock.nowMs - ageMs });
    }
    await database.batch([{
      sql: "update orders set state = ? where account_id = ?",
      args: [state, account.id],
    }]);
    assertEquals([await makes("1"), await makes("2")], [true, !isFull], `${state} ${ageMs}`);
  }
});

Deno.test("an order for another account says who has bought it", async () => {
  await using one = await counter();
  const [ada, bob] = [await one.account(), await one.account()];
  const noteOf = async (buyer: typeof ada | undefined, reference: string) =>
    (await one.payments.order(ada, "starter", { origin: "console", reference, buyer })).note;
  assertEquals(
    [await noteOf(undefined, "1"), await noteOf(ada, "2"), await noteOf(bob, "3")],
    ["Starter", "Starter", `Starter, ordered by ${bob.email}`],
  );
  const modelsOf = async (packageId: string) =>
    (await one.payments.order(bob, packageId, { origin: "console", reference: packageId })).models;
  assertEquals([await modelsOf("starter"), await modelsOf("bound")], [null, ["svc-k2"]]);
});

Deno.test("a refund that the service does not make says why, and whether the same may succeed later", async () => {
  await using one = await counter();
  const { payments, stripe, database, clock, failing } = one;
  const paid = async (from: Partial<Order>) => {
    const order = await one.order(await one.account(), from);
    const { order: settled } = await settlePayment(database, {
      orderId: order.id,
      paymentId: `pi of ${order.id}`,
      amount: 499,
      bonusCredits: 0,
      isPayment: true,
      atMs: clock.nowMs,
    });
    return settled;
  };
  const order = await paid({});
  const refund = (of: Order, by = payments) => () => by.refund(of, { reference: "r" });
  await assertRejects(refund(order, one.offline()), Error, "Stripe is not configured");
  const live = await paid({ livemode: true });
  await assertRejects(refund(live), Error, `${live.id} was paid in live mode`);
  const unknown = await assertRejects(refund(order), Error, "No such payment_intent");
  assert(!unknown.message.includes("--reference"), unknown.message);
  stripe.down = true;
  await assertRejects(refund(order), Error, 'Repeat the command with --reference "r"');
  stripe.down = false;
  const intent = { object: "payment_intent", amount: 499, currency: "usd" };
  stripe.intents.set(order.paymentId!, { ...intent, id: order.paymentId! });
  const found = () => payments.refund(order, { reference: "found" });
  failing.on = "batch";
  await assertRejects(found, TypeError, "a fault of ours");
  failing.on = "";
  assertEquals((await found()).state, "refunded");
  // a reference is what a person writes; it refunds once
  for (const reference of ["Rückgabe", "退款 17", "a\nb"]) {
    const other = await paid({});
    stripe.intents.set(other.paymentId!, { ...intent, id: other.paymentId! });
    for (let times = 0; times < 2; times++) {
      const { goneAmount } = await payments.refund(other, { amount: 100, reference });
      assertEquals(goneAmount, 100, reference);
    }
  }
});
