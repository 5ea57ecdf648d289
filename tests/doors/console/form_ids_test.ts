/** A form that does something once is rejected without the ID that it was sent with: nobody could tell whether it was sent before. */

import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { formsOf, type PageForm } from "../../fake/forms.ts";
import { startGateway } from "../../fake/gateway.ts";
import { signedIn } from "../../fake/visitor.ts";
import { fakeStripe } from "../../money/payments/fake_stripe.ts";
import { shopSettings } from "../../money/payments/shop.ts";
import { fillOrders } from "./rich.ts";

/** What is typed into fields that are empty. */
const TYPED: Readonly<Record<string, string>> = {
  credits: "5",
  amount: "1.00",
  below: "5",
  max: "3",
  note: "a note",
};

/** The fields of a form as they are sent. */
function sentBy({ fields }: PageForm): Record<string, string> {
  return Object.fromEntries(
    fields.filter(({ isChosen }) => isChosen)
      .map(({ name, value }) => [name, value === "" ? TYPED[name] ?? "" : value]),
  );
}

Deno.test("each form with an ID is rejected without it, does nothing then, and is done with it", async () => {
  await using stripe = fakeStripe();
  await using gateway = await startGateway({ settings: shopSettings(stripe) });
  const { database, owner, registration } = gateway.gateway;
  const ada = await registration.register({ email: "ada@example.com" });
  const { paidId } = await fillOrders(gateway, stripe, ada.email);
  const walks = [
    [ada.email, "/console/credits"],
    [owner.email, `/console/operator/accounts/${ada.id}`],
    [owner.email, `/console/operator/orders/${paidId}`],
  ] as const;
  const done = async () =>
    await Promise.all(
      ["entries", "orders", "operation_log"].map(async (table) =>
        (await database.one(`select count(*) as n from ${table}`))!.n
      ),
    );
  const found = new Set<string>();
  for (const [email, path] of walks) {
    const browser = await signedIn(gateway, email);
    const page = await browser.get(path);
    assertEquals(page.status, 200, path);
    for (const form of formsOf(await page.text())) {
      const { form: id, ...fields } = sentBy(form);
      if (id === undefined) continue;
      found.add(form.action.split("/").at(-1)!);
      const before = await done();
      for (const without of [fields, { ...fields, form: "" }, { ...fields, form: " " }]) {
        const reply = await browser.post(form.action, without);
        assertEquals([reply.status, await done()], [400, before], form.action);
        assertStringIncludes(await reply.text(), "Reload the page, and try again", form.action);
      }
      const reply = await browser.post(form.action, { ...fields, form: id });
      await reply.body?.cancel();
      assertEquals(reply.status, 303, form.action);
      assert((await done()).join() !== before.join(), form.action);
    }
  }
  assertEquals([...found].toSorted(), [
    "checkout",
    "grant",
    "package",
    "refund",
    "take-back",
    "top-up",
  ]);
});
