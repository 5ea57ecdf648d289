/** What was typed into a form that is rejected stays, and the message is where it was typed. */

import type { Page } from "playwright-core";
import { assert, assertEquals } from "../../assert.ts";
import { inOneBrowser } from "../../fake/browser.ts";
import { startGateway } from "../../fake/gateway.ts";
import { fakeStripe } from "../../money/payments/fake_stripe.ts";
import { shopSettings } from "../../money/payments/shop.ts";
import { sized } from "../../tier.ts";
import { addTeam } from "./rich.ts";

const pathOf = (action: string) => `main form[method=post][action="${action}"]`;

/** The names and values of a form's fields, without those that nobody types. */
const typed = (page: Page, action: string) =>
  page.evaluate<string[][]>(`(() => {
    const form = document.querySelector('${pathOf(action)}');
    const isTyped = ([name]) => form.querySelector('[name="' + name + '"]:not([type=hidden])') !== null;
    return [...new FormData(form)].filter(isTyped);
  })()`);

/** Lets a form be sent with what the browser itself would reject, and shows it. */
const opened = (page: Page, action: string) =>
  page.evaluate(`{
    const form = document.querySelector('${pathOf(action)}');
    form.noValidate = true;
    for (const field of form.querySelectorAll("input[type=number]")) field.type = "text";
    for (let up = form.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
  }`);

inOneBrowser("forms in a browser", {
  async "a rejected form keeps what was typed, beside the message"(pages) {
    await using stripe = fakeStripe();
    const shop = shopSettings(stripe);
    await using gateway = await startGateway({ settings: shop });
    const { accounts, registration, sessions } = gateway.gateway;
    const ada = await registration.register({ email: "ada@example.com" });
    const teamId = await addTeam(gateway.gateway, ada.email, ["svc-k2", "svc-k2.6", "svc-k3"]);
    const visits:
      readonly (readonly [path: string, action: RegExp, values: Record<string, string>])[] = [
        ["/console/keys", /\/console\/keys$/, { name: "laptop <b>", budget: "-3" }],
        ["/console/credits", /\/redeem$/, { code: "WRONG-CODE" }],
        [`/console/teams/${teamId}`, /\/members$/, { email: "nobody at all" }],
        [`/console/teams/${teamId}`, /\/members\/[^/]+\/budget$/, { budget: "-1", marks: "7" }],
      ];
    for (const javaScriptEnabled of [true, false]) {
      const { page, faults } = await pages(`with scripts: ${javaScriptEnabled}`, {
        javaScriptEnabled,
        viewport: { width: 375, height: 700 },
      });
      const token = await sessions.makeLink(await accounts.get(ada.email));
      await page.goto(`${gateway.url}/console/link/${token}`);
      // without scripts all forms are the same
      const tried = javaScriptEnabled ? visits : visits.slice(0, sized(1, visits.length));
      for (const [path, action, values] of tried) {
        await page.goto(`${gateway.url}${path}`);
        const actions = await page.locator("form[method=post]").evaluateAll((all) =>
          all.map((one) => one.getAttribute("action") ?? "")
        );
        const chosen = actions.findLast((one) => action.test(one));
        assert(chosen !== undefined, `no form for ${action} in ${actions}`);
        const form = page.locator(pathOf(chosen)).first();
        await opened(page, chosen);
        for (const [name, value] of Object.entries(values)) {
          await form.locator(`[name="${name}"]`).fill(value);
        }
        const boxes = form.locator("input[type=checkbox]");
        if (await boxes.count() > 0) await boxes.last().check();
        const before = await typed(page, chosen);
        await form.locator("button[type=submit], button:not([type])").first().click();
        const message = page.locator(".notice.bad [role=status]");
        await message.waitFor();
        const after = page.locator(pathOf(chosen)).first();
        // a script moves it there
        if (javaScriptEnabled) await after.locator(".notice.bad").waitFor();
        assertEquals(await after.locator(".notice.bad").count(), javaScriptEnabled ? 1 : 0, chosen);
        if (!javaScriptEnabled) continue;
        assertEquals(await typed(page, chosen), before, chosen);
        assert(await message.isVisible());
        const { y } = (await message.boundingBox())!;
        assert(y >= 0 && y < 700, `the message of ${chosen} is out of sight`);
        // it is kept for that page alone
        await page.goto(`${gateway.url}${path}`);
        const empty = await typed(page, chosen);
        assert(JSON.stringify(empty) !== JSON.stringify(before), chosen);
      }
      assertEquals(faults.filter((one) => !one.includes("400")), []);
    }
  },
});
