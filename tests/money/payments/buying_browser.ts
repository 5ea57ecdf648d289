/** Buying in a real browser, with the security policy that pages have. */

import { assertEquals, assertStringIncludes } from "../../assert.ts";
import type { Opened, SharedPages, Steps } from "../../fake/browser.ts";
import { send } from "./fake_stripe.ts";
import { openShop, type Shop } from "./shop.ts";

/** A page of somebody who is signed in, and its faults. */
async function signedIn(
  shop: Shop,
  pages: SharedPages,
  email: string,
): Promise<Opened> {
  const { gateway, url } = shop.gateway;
  const token = await gateway.sessions.makeLink(await gateway.accounts.get(email));
  const { page, faults } = await pages();
  await page.goto(`${url}/console/link/${token}`);
  return { page, faults };
}

/** Buying by an account, by a lead for a team, and with a code. */
export const BUYING_STEPS: Steps = {
  "buy Starter: checkout, lot and receipt; the inviter's 500 come and go with the payment": async (
    pages,
  ) => {
    await using shop = await openShop();
    const { stripe, gateway } = shop;
    stripe.onPaid = (event) => send(gateway.url, event);
    const eve = await shop.account();
    const ada = await shop.account(await gateway.gateway.accounts.inviteCode(eve));
    const { page, faults } = await signedIn(shop, pages, ada.email);
    await page.goto(`${gateway.url}/console/credits`);
    await page.getByRole("button", { name: "Buy Starter" }).click();
    await page.getByRole("heading", { name: "Fake checkout" }).waitFor();
    await page.getByRole("link", { name: "Pay" }).click();
    await page.getByText("The credits are in your balance").waitFor();
    await page.getByRole("link", { name: "Receipt" }).click();
    const receipt = await page.locator("main").innerText();
    for (const part of ["R-000001", "4.99 USD", "500 credits", ada.email]) {
      assertStringIncludes(receipt, part);
    }
    await page.goto(`${gateway.url}/console/credits`);
    const credits = await page.locator("main").innerText();
    assertStringIncludes(credits, "Receipt R-000001");
    assertStringIncludes(credits, "+500");
    await page.goto(`${gateway.url}/console/`);
    assertStringIncludes(await page.locator("main").innerText(), "500");
    assertEquals([await shop.balance(ada), await shop.balance(eve)], [500, 500]);

    await page.goto(`${gateway.url}/console/credits`);
    await page.getByRole("button", { name: "Buy Starter" }).click();
    await page.getByRole("link", { name: "Back" }).click();
    await page.getByText("You came back without paying").waitFor();
    assertEquals([await shop.balance(ada), await shop.balance(eve)], [500, 500]);

    const [{ payment_intent } = { payment_intent: "" }] = [...stripe.sessions.values()];
    await shop.deliver(stripe.event("refund.created", stripe.refund(String(payment_intent))));
    assertEquals([await shop.balance(ada), await shop.balance(eve)], [0, 0]);
    assertEquals(faults, []);
    await shop.assertClean();
  },

  "a session that is another account's shows nothing; a code is redeemed once": async (pages) => {
    await using shop = await openShop();
    const { stripe, gateway } = shop;
    const [ada, eve] = [await shop.account(), await shop.account()];
    const order = await shop.order(ada);
    stripe.pay(order.sessionId);
    const { page } = await signedIn(shop, pages, eve.email);
    await page.goto(`${gateway.url}/console/orders/${order.id}?session=${order.sessionId}`);
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
    assertEquals([await shop.balance(ada), await shop.balance(eve)], [0, 0]);

    const [made] = await gateway.gateway.codes.make({ credits: 70 });
    for (const said of ["Code redeemed", "This code is not valid"]) {
      await page.goto(`${gateway.url}/console/credits`);
      await page.getByLabel("Code", { exact: true }).fill(made!.code.toLowerCase());
      await page.getByRole("button", { name: "Redeem" }).click();
      await page.getByText(said).waitFor();
    }
    assertEquals(await shop.balance(eve), 70);
    await shop.assertClean();
  },

  "a lead buys for the team's pool, on a checkout of another host, by the page that leads on":
    async (pages) => {
      await using shop = await openShop();
      const { stripe, gateway } = shop;
      stripe.onPaid = (event) => send(gateway.url, event);
      const { teams, members, accounts } = gateway.gateway;
      const lead = await shop.account();
      const team = await teams.create({ name: "Platform", pool: true });
      await members.add(team, lead, "lead");
      const { page, faults } = await signedIn(shop, pages, lead.email);
      await page.goto(`${gateway.url}/console/credits`);
      await page.getByRole("link", { name: "For team Platform" }).click();
      await page.getByRole("button", { name: "Buy Starter" }).click();
      await page.getByRole("heading", { name: "Fake checkout" }).waitFor();
      await page.getByRole("link", { name: "Pay" }).click();
      await page.getByText("The credits are in the team's pool").waitFor();
      await page.getByRole("link", { name: "Receipt" }).click();
      assertStringIncludes(await page.locator("main").innerText(), "Team Platform");
      const pool = (await accounts.byId(team.poolId!))!;
      assertEquals([await shop.balance(pool), await shop.balance(lead)], [500, 0]);
      assertEquals(faults, []);
      await shop.assertClean();
    },
};
