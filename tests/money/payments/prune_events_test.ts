/** Events that changed no order are deleted in time; those of orders are kept. */

import { assertEquals, assertRejects } from "../../assert.ts";
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
