import { assertEquals, assertStringIncludes } from "../../assert.ts";
import type { Steps } from "../../fake/browser.ts";
import { startGateway } from "../../fake/gateway.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir, until } from "../../fake/temp.ts";

/** A terminal is signed in by a real browser, and signed out on the page Keys. */
export const TOOL_STEPS: Steps = {
  "a terminal is approved in the browser, and signed out there": async (pages) => {
    await using gateway = await startGateway({ settings: { signIn: {} } });
    await using home = await tempDir();
    const owner = (await gateway.gateway.accounts.owner())!;
    const link = await gateway.gateway.sessions.makeLink(owner);
    let seen = "";
    const login = sluice(["auth", "login", "--gateway", gateway.url], {
      env: { XDG_STATE_HOME: home.path, BROWSER: "true" },
      directory: home.path,
      seen: (text) => seen += text,
    });
    await until(() => seen.includes("Waiting"), { what: "the terminal's question" });
    const { page, faults } = await pages("terminal");
    await page.goto(`${gateway.url}/console/link/${link}`);
    await page.goto(/^http\S+$/m.exec(seen)![0]);
    assertStringIncludes(await page.content(), "sluice auth asks to use models in your name");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.waitForURL(/^http:\/\/127\.0\.0\.1:\d+\/callback/);
    assertStringIncludes(await page.content(), "The terminal goes on");
    const done = await login;
    assertEquals(done.code, 0, done.err);
    await page.goto(`${gateway.url}/console/keys`);
    await page.getByRole("button", { name: /^Sign out sluice auth from/ }).click();
    await page.getByText("Signed out. The tool stops working within a second.").waitFor();
    assertEquals(faults, []);
  },
};
