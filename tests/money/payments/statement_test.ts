/** What an account paid and got back: each thing once, within its time, and nothing that was given or is another's. */

import { listOrders, paymentHealth, statementOf } from "../../../src/money/payments/mod.ts";
import { contactStatement } from "../../../src/money/payments/health.ts";
import { orderById, orderOfReference, storedOrders } from "../../../src/money/payments/orders.ts";
import type { Database } from "../../../src/ground/database/mod.ts";
import { assertEquals } from "../../assert.ts";
import { counter } from "./counter.ts";

const DAY_MS = 86_400_000;

/** An order that was paid, and what happened to it then, each a millisecond after the other. */
async function happened(
  database: Database,
  orderId: string,
  events: readonly (readonly [kind: string, cause: string, amount?: number])[],
  fromMs = 0,
) {
  await database.batch([
    {
      sql: `update orders set state = 'paid', payment_id = 'pi of ' || id, paid_amount = 499,
        paid_at_ms = 0, receipt = (select count(*) + 1 from orders as others where receipt > 0)
        where id = ?`,
      args: [orderId],
    },
    ...events.map(([kind, cause, amount], at) => ({
      sql: `insert into order_events (id, kind, cause_id, order_id, amount, at_ms)
        values (?, ?, ?, ?, ?, ?)`,
      args: [`${kind}:${cause}`, kind, cause, orderId, amount ?? null, fromMs + at],
    })),
  ]);
}

Deno.test("a statement has what was paid and what went back, a dispute once, from its beginning to its end", async () => {
  await using one = await counter();
  const { database } = one;
  const [ada, bob] = [await one.account(), await one.account()];
  const [bought, given, other] = [
    await one.order(ada),
    await one.order(ada, { provider: "gift" }),
    await one.order(bob),
  ];
  await happened(database, bought.id, [
    ["session", "cs"],
    ["paid", "pi"],
    ["review", "x"],
    ["looked", "x"],
    ["refunded", "re_1", 10],
    ["refund_failed", "re_1", 10],
    ["refund_failed", "re_2", 11],
    ["inquiry", "dp_1", 20],
    ["disputed", "dp_2", 30],
    ["dispute_lost", "dp_2", 30],
    ["dispute_lost", "dp_3", 40],
    ["dispute_won", "dp_3", 40],
    ["disputed", "dp_4", 50],
    ["dispute_won", "dp_4", 50],
    ["dispute_won", "dp_5", 60],
  ]);
  await happened(database, given.id, [["paid", "gift"]]);
  await happened(database, other.id, [["paid", "other"]]);
  const lines = async (fromMs: number, untilMs: number) =>
    (await statementOf(database, ada.id, { fromMs, untilMs }))
      .map(({ atMs, kind, amount, orderId }) => {
        assertEquals(orderId, bought.id);
        return [atMs, kind as string, amount];
      });
  const all = [
    [1, "paid", 499],
    [4, "refunded", -10],
    [5, "refund_failed", 10],
    [8, "disputed", -30],
    [10, "disputed", -40],
    [11, "dispute_won", 40],
    [12, "disputed", -50],
    [13, "dispute_won", 50],
  ];
  assertEquals(await lines(0, 100), all);
  assertEquals(await lines(4, 8), all.slice(1, 3));
  assertEquals(await lines(5, 9), all.slice(2, 4));
});

Deno.test("orders are listed by account, state and need, in pages, and found by their reference at one provider", async () => {
  await using one = await counter();
  const { database, clock } = one;
  const [ada, bob] = [await one.account(), await one.account()];
  const made = [];
  for (const [at, account] of [ada, bob, ada, ada].entries()) {
    const order = await one.order(account, { createdAtMs: clock.nowMs + (at >> 1) });
    const state = at === 2 ? "expired" : "open";
    await database.batch([{
      sql: "update orders set state = ?, needs_look = ? where id = ?",
      args: [state, at === 3 ? "why" : "", order.id],
    }]);
    made.push((await orderById(database, order.id))!);
  }
  const newest = made.toSorted((a, b) => b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1));
  for (const accountId of [undefined, ada.id]) {
    for (const state of [undefined, "open", "expired"] as const) {
      for (const needsLook of [undefined, true]) {
        const found = [];
        for (let after: typeof made[number] | undefined, more = true; more;) {
          const page = await listOrders(database, { accountId, state, needsLook, after, limit: 1 });
          found.push(...page.map(({ id }) => id));
          after = page[0];
          more = page.length > 0;
        }
        const wanted = newest.filter((order) =>
          (accountId ?? order.accountId) === order.accountId &&
          (state ?? order.state) === order.state && (!needsLook || order.needsLook !== "")
        );
        assertEquals(found, wanted.map(({ id }) => id));
      }
    }
  }
  const [first] = made;
  const of = (change: object) =>
    orderOfReference(database, { ...first!, provider: "stripe", ...change });
  assertEquals((await of({}))?.id, first!.id);
  assertEquals(await of({ provider: "manual" }), undefined);
  assertEquals(await of({ reference: "another" }), undefined);
  assertEquals(await of({ accountId: bob.id }), undefined);
  assertEquals(await storedOrders(database, [first!.id, "ord_none"]), [first!.id]);
  const nothing = { all: () => Promise.reject(new Error("it was asked")) } as unknown as Database;
  assertEquals(await storedOrders(nothing, []), []);
});

Deno.test("how payments fare is told of each mode: contacts, open orders after 26 hours, and what needs a look", async () => {
  await using one = await counter();
  const { database, clock: { nowMs } } = one;
  const ada = await one.account();
  const late = nowMs - 26 * DAY_MS / 24;
  const orders = [
    { createdAtMs: late },
    { createdAtMs: late - 1 },
    { createdAtMs: late - 5 },
    { createdAtMs: late - 9, livemode: true },
    { createdAtMs: late - 10, provider: "manual" },
  ] as const;
  for (const from of orders) await one.order(ada, from);
  const expired = await one.order(ada, { createdAtMs: late - 11 });
  await database.batch([
    {
      sql: "update orders set state = 'expired', needs_look = 'why' where id = ?",
      args: [expired.id],
    },
    contactStatement("webhook", { livemode: false, atMs: 100_000 }),
    contactStatement("webhook", { livemode: false, atMs: 109_999 }),
    contactStatement("sweep", { livemode: true, atMs: 100_000 }),
    contactStatement("sweep", { livemode: true, atMs: 110_000 }),
  ]);
  assertEquals(await paymentHealth(database, { livemode: false, nowMs }), {
    lastWebhookAtMs: 100_000,
    lastSweepAtMs: null,
    orders: 4,
    waiting: 2,
    oldestWaitingAtMs: late - 5,
    needLook: 1,
  });
  const { waiting, oldestWaitingAtMs } = await paymentHealth(database, {
    livemode: false,
    nowMs: late,
  });
  assertEquals([waiting, oldestWaitingAtMs], [0, null], "they wait for as long as is usual");
  assertEquals(await paymentHealth(database, { livemode: true, nowMs }), {
    lastWebhookAtMs: null,
    lastSweepAtMs: 110_000,
    orders: 1,
    waiting: 1,
    oldestWaitingAtMs: late - 9,
    needLook: 0,
  });
});
