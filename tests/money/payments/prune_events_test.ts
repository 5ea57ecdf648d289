/** Events that changed no order are deleted in time; those of orders are kept. */

import { EVENTS_KEPT_MS, pruneEvents } from "../../../src/money/payments/prune_events.ts";
import { assertEquals, assertRejects } from "../../assert.ts";
import { counter } from "./counter.ts";
import { openShop } from "./shop.ts";

const DAY_MS = 86_400_000;

Deno.test("events without an effect are deleted after 90 days, and what is sent again changes nothing", async () => {
  let skewMs = 0;
  await using shop = await openShop({ now: () => Date.now() + skewMs });
  const { stripe, gateway } = shop;
  const { database, retention } = gateway.gateway;
  const ada = await shop.account();
  const order = await shop.order(ada);
  const paid = stripe.pay(order.sessionId);
  const intent = String(stripe.sessions.get(order.sessionId)!.payment_intent);
  const refund = stripe.refund(intent, 100);
  const applied = [paid, stripe.event("refund.created", refund)];
  const others = [
    stripe.event("refund.updated", refund), // says nothing new
    stripe.event("refund.created", { ...refund, id: "re_other", payment_intent: "pi_other" }),
    ...Array.from(
      { length: 450 },
      () => stripe.event("customer.created", { id: "cus_1", object: "customer" }),
    ),
  ];
  await shop.deliver(...applied, ...others.slice(0, 2));
  // beside each other, since each waits for the disk
  for (let at = 2; at < others.length; at += 50) {
    await Promise.all(others.slice(at, at + 50).map((event) => shop.deliver(event)));
  }
  const kept = async () =>
    (await database.all("select id from payment_events")).map(({ id }) => String(id)).toSorted();
  const ids = (events: typeof applied) => events.map(({ id }) => String(id)).toSorted();
  skewMs = 90 * DAY_MS - 60_000;
  await retention.prune();
  assertEquals(await kept(), ids([...applied, ...others]));
  skewMs = 90 * DAY_MS + 60_000;
  await retention.prune();
  assertEquals(await kept(), ids(applied));
  await shop.assertClean();

  await shop.deliver(...applied, ...others.slice(0, 3));
  assertEquals([await shop.balance(ada), await shop.debt(ada)], [400, 0]);
  assertEquals((await kept()).length, 5);
  await shop.assertClean();
  for (const { id } of applied) {
    await assertRejects(
      () =>
        database.batch([{ sql: "delete from payment_events where id = ?", args: [String(id)] }]),
      Error,
      "events that changed an order are kept",
    );
  }
  const plan = await database.all(
    `explain query plan select id from payment_events
      where outcome in ('repeated', 'no_effect', 'unknown') and received_at_ms < 5
      order by received_at_ms limit 5`,
  );
  assertEquals(plan.map(({ detail }) => String(detail).includes("without_effect")), [true]);
});

Deno.test("an old event is kept if something happened to an order by it, whatever is recorded of it", async () => {
  await using one = await counter();
  const { database } = one;
  const { id } = await one.order(await one.account());
  await database.batch([
    ...["evt_1", "evt_2"].map((event) => ({
      sql: `insert into payment_events
          (id, type, object_id, livemode, outcome, created_at_ms, received_at_ms)
        values (?, 'x', '', 0, 'repeated', 0, 0)`,
      args: [event],
    })),
    {
      sql: `insert into order_events (id, kind, cause_id, order_id, event_id, at_ms)
        values ('session:cs', 'session', 'cs', ?, 'evt_1', 0)`,
      args: [id],
    },
  ]);
  const prune = (nowMs: number) => pruneEvents(database, { nowMs, limit: 1 });
  const left = async () =>
    (await database.all("select id from payment_events order by id")).map(({ id }) => id);
  assertEquals([await prune(EVENTS_KEPT_MS), await left()], [false, ["evt_1", "evt_2"]]);
  assertEquals([await prune(EVENTS_KEPT_MS + 1), await left()], [true, ["evt_1"]]);
  assertEquals([await prune(EVENTS_KEPT_MS + 1), await left()], [false, ["evt_1"]]);
});
