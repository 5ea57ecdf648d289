/** Signing in at a real provider, in a real browser, and out again at both. */

import type { Page } from "playwright-core";
import { assert, assertEquals } from "../../assert.ts";
import type { Steps } from "../../fake/browser.ts";
import { startGateway } from "../../fake/gateway.ts";
import { startProvider } from "../../fake/oidc_provider.ts";

/** Signs in on the provider's own pages: who somebody is, and that the gateway may know. */
async function throughProvider(page: Page, subject: string): Promise<void> {
  await page.getByRole("link", { name: "Sign in with company" }).click();
  await page.locator("input[name=login]").fill(subject);
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  await page.getByRole("button", { name: "Continue" }).click();
}

export const SIGN_IN_STEPS: Steps = {
  "somebody signs in at a provider, is a lead by a group, is none without it, and signs out at both":
    async (
      pages,
    ) => {
      let origin = ""; // once the gateway runs
      await using provider = await startProvider({
        redirectUris: () =>
          ["/oidc/company/callback", ""].map((path) => `${origin}/console/sign-in${path}`),
      });
      await using gateway = await startGateway({
        settings: {
          signIn: {
            password: false,
            passkeys: false, // the browser would offer the one of the step before
            oidc: [{
              name: "company",
              issuer: provider.issuer,
              client: provider.client.id,
              secret: provider.client.secret,
              domains: ["example.com"],
              groups: { leads: { teams: { Platform: "lead" } } },
            }],
          },
        },
      } as never);
      origin = gateway.url;
      const ada = { email: "ada@example.com", email_verified: true, name: "Ada" };
      const { teams } = gateway.gateway;
      const team = await teams.create({ name: "Platform", pool: false });
      const url = `${gateway.url}/console/teams/${team.id}`;
      const { page, faults } = await pages();
      // fonts of the provider's pages
      await page.route(/^https:/, (route) => route.fulfill({ contentType: "text/css", body: "" }));
      const adds = page.getByRole("button", { name: "Add member" });

      provider.people.set("s-1", { ...ada, groups: ["leads"] });
      await page.goto(url);
      await page.getByText("Only owners sign in with a password here.").waitFor();
      await throughProvider(page, "s-1");
      // where the browser wanted to go, as what the group makes of it
      await adds.waitFor();
      assertEquals(page.url(), url);

      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("link", { name: "Sign out there as well" }).click();
      await page.getByRole("button", { name: "Yes, sign me out" }).click();
      await page.getByRole("link", { name: "Sign in with company" }).waitFor();
      assert(page.url().startsWith(`${gateway.url}/console/sign-in`), page.url());

      // out of the group: the provider asks who it is again, as its own session is over
      provider.people.set("s-1", ada);
      await page.goto(`${gateway.url}/console/`);
      await throughProvider(page, "s-1");
      await page.getByRole("link", { name: "Ada" }).waitFor();
      assertEquals(faults, []);
      await page.goto(url);
      await page.getByRole("heading", { name: "Page not found" }).waitFor();
      assertEquals(await adds.count(), 0);

      await page.goto(`${gateway.url}/console/`);
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("link", { name: "Sign out there as well" }).waitFor();
      await page.goto(`${gateway.url}/console/`);
      await page.getByRole("link", { name: "Sign in with company" }).waitFor();
      // the page that was not found is a failed load to a browser
      assertEquals(faults.filter((one) => !one.endsWith(url)), []);
    },
};
