import type { CDPSession, Page } from "playwright-core";
import { assertEquals } from "../../assert.ts";
import type { Steps } from "../../fake/browser.ts";
import { startGateway } from "../../fake/gateway.ts";

/** Gives a page an authenticator: one of the browser's own, in software. */
async function withAuthenticator(page: Page) {
  const devtools: CDPSession = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    /** Whether somebody touches it whenever a page asks. */
    isTouched: (enabled: boolean) =>
      devtools.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled }),
    async [Symbol.asyncDispose]() {
      await devtools.send("WebAuthn.removeVirtualAuthenticator", { authenticatorId });
      await devtools.detach();
    },
  };
}

export const PASSKEY_STEPS: Steps = {
  "somebody adds a passkey, and signs in with it by the field of the address and by the button":
    async (pages) => {
      await using gateway = await startGateway({ settings: { signIn: {} } } as never);
      const { accounts, sessions } = gateway.gateway;
      const ada = await accounts.create({ email: "ada@example.com" });
      // passkeys need a host with a name
      const url = gateway.url.replace("127.0.0.1", "localhost");
      const { page, faults } = await pages();
      await using device = await withAuthenticator(page);
      await page.goto(`${url}/console/link/${await sessions.makeLink(ada)}`);
      await page.goto(`${url}/console/account`);
      const form = page.locator("[data-passkey=create]");
      const add = form.getByRole("button", { name: "Add a passkey" });
      await form.getByLabel(/^Name/).fill("this laptop");
      await add.click();
      await page.getByText("The passkey signs in this account from now on.").waitFor();
      await form.getByLabel(/^Name/).fill("twice");
      await add.click();
      await form.getByText("There is a passkey of this account already.").waitFor();

      // the browser offers it, and it is taken at once
      await page.getByRole("button", { name: "Sign out", exact: true }).click();
      await page.waitForURL(`${url}/console/`);
      await device.isTouched(false);
      await page.getByRole("button", { name: "Sign out", exact: true }).click();
      const button = page.getByRole("button", { name: "Sign in with a passkey" });
      await button.waitFor();
      await device.isTouched(true);
      // unless the offer in the field was taken meanwhile
      await Promise.race([button.click().catch(() => {}), page.waitForURL(`${url}/console/`)]);
      await page.waitForURL(`${url}/console/`);
      const begun = await sessions.list(ada);
      assertEquals(begun.map(({ isByPasskey }) => isByPasskey), [true]);
      assertEquals(faults, []);
    },
};
