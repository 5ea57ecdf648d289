/** Buying in a real browser, with the security policy that pages have. */

import type { Browser, Page } from "playwright-core";
import axe from "axe-core";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { browserProgram, startBrowser } from "../../fake/browser.ts";
import { send } from "./fake_stripe.ts";
import { openShop, type Shop } from "./shop.ts";

/** A test in a real browser; `CHROMIUM` says where it is, CI installs it. */
function inBrowser(name: string, work: (browser: Browser) => Promise<void>): void {
  Deno.test(name, {
    ignore: browserProgram === undefined,
    // what the browser's own library keeps is not of the test
    sanitizeOps: false,
    sanitizeResources: false,
  }, async () => {
    await using started = await startBrowser();
    await work(started.browser);
  });
}

/** A page of somebody who is signed in, and its faults. */
async function signedIn(
  shop: Shop,
  browser: Browser,
  email: string,
): Promise<{ page: Page; faults: string[] }> {
  const { gateway, url } = shop.gateway;
  const token = await gateway.sessions.makeLink(await gateway.accounts.get(email));
  const page = await (await browser.newContext()).newPage();
  const faults: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  await page.goto(`${url}/console/link/${token}`);
  return { page, faults };
}

inBrowser(
  "buy Starter: checkout, lot and receipt; the inviter's 500 come and go with the payment",
  async (browser) => {
    await using shop = await openShop();
    const { stripe, gateway } = shop;
    stripe.onPaid = (event) => send(gateway.url, event);
    const eve = await shop.account();
    const ada = await shop.account(await gateway.gateway.accounts.inviteCode(eve));
    const { page, faults } = await signedIn(shop, browser, ada.email);
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
);

inBrowser(
  "a session that is another account's shows nothing; a code is redeemed once",
  async (browser) => {
    await using shop = await openShop();
    const { stripe, gateway } = shop;
    const [ada, eve] = [await shop.account(), await shop.account()];
    const order = await shop.order(ada);
    stripe.pay(order.sessionId);
    const { page } = await signedIn(shop, browser, eve.email);
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
);

inBrowser(
  "a lead buys for the team's pool, on a checkout of another host, by the page that leads on",
  async (browser) => {
    await using shop = await openShop();
    const { stripe, gateway } = shop;
    stripe.onPaid = (event) => send(gateway.url, event);
    const { teams, members, accounts } = gateway.gateway;
    const lead = await shop.account();
    const team = await teams.create({ name: "Platform", pool: true });
    await members.add(team, lead, "lead");
    const { page, faults } = await signedIn(shop, browser, lead.email);
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
);

inBrowser("the pages of buying are accessible, in light and dark", async (browser) => {
  await using shop = await openShop();
  const { accounts, codes, members, teams } = shop.gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com", role: "operator" });
  const team = await teams.create({ name: "Platform", pool: true });
  await members.add(team, ada, "lead");
  await codes.make({ credits: 5, count: 2 });
  const order = await shop.buy(ada);
  const { page, faults } = await signedIn(shop, browser, ada.email);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (
      const path of [
        "/console/credits",
        `/console/orders/${order.id}`,
        `/console/orders/${order.id}/receipt`,
        "/console/statement",
        `/console/teams/${team.id}/credits`,
        `/console/teams/${team.id}/statement`,
        "/console/operator/payments",
        `/console/operator/orders/${order.id}`,
        "/console/operator/codes",
      ]
    ) {
      await page.goto(`${shop.gateway.url}${path}`);
      await page.evaluate(axe.source);
      const found = await page.evaluate(async () => {
        // deno-lint-ignore no-explicit-any -- the script above defines it in the page
        const { violations } = await (globalThis as any).axe.run();
        return violations.map(({ id, nodes }: { id: string; nodes: { html: string }[] }) =>
          `${id}: ${nodes[0]?.html}`
        );
      });
      assertEquals(found, [], `${colorScheme} ${path}`);
    }
  }
  assert(faults.every((one) => !one.includes("Content Security Policy")), faults.join("\n"));
});
