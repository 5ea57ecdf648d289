/** Live parts in a real browser: what is new takes nothing from those who read by keyboard. */

import { assertEquals } from "../../assert.ts";
import type { Steps } from "../../fake/browser.ts";
import { startGateway } from "../../fake/gateway.ts";

/** A version of a part, with everything that can be open or have the focus. */
function versionOf(at: number, more = ""): string {
  return `<a href="/console/keys">Keys of version ${at}</a>
    <details><summary>More</summary>Text ${at}</details>
    <details id="other"><summary>Closed</summary>Not seen ${at}</details>
    <button type="button">Test</button><button type="button">Test</button>
    <button type="button" popovertarget="word-${at}">word</button>
    <span popover="auto" id="word-${at}">Meaning ${at}</span>
    <input name="q"> ${more}<b>Version ${at}</b>`;
}

export const LIVE_STEPS: Steps = {
  "a live part that is replaced keeps the focus, and what is open": async (pages) => {
    await using gateway = await startGateway();
    const { page, faults } = await pages("somebody", { viewport: { width: 1280, height: 900 } });
    const { accounts, sessions } = gateway.gateway;
    const token = await sessions.makeLink(await accounts.get("owner@localhost"));
    let release = Promise.withResolvers<string>();
    await page.route("**/console/events?*", async (route) => {
      const html = await release.promise;
      release = Promise.withResolvers();
      const data = html.split("\n").map((line) => `data: ${line}\n`).join("");
      await route.fulfill({
        contentType: "text/event-stream",
        body: `retry: 20\nevent: balance\n${data}\n`,
      }).catch(() => {}); // the page may be closed by then
    });
    const show = async (at: number, more?: string) => {
      release.resolve(versionOf(at, more));
      await page.locator("b", { hasText: `Version ${at}` }).waitFor();
    };
    const focused = () =>
      page.evaluate<string>(`(() => {
      const { localName, textContent } = document.activeElement;
      const same = [...document.querySelectorAll(localName)].filter((one) => one.textContent === textContent);
      return localName + " " + textContent.slice(0, 22).trim() + " " + same.indexOf(document.activeElement);
    })()`);

    await page.goto(`${gateway.url}/console/link/${token}`);
    await show(1);
    await page.locator("[data-part=balance] summary", { hasText: "More" }).focus();
    await page.keyboard.press("Enter");
    const open = () =>
      page.evaluate(
        "[...document.querySelectorAll('[data-part=balance] details')].map(({ open }) => open)",
      );
    assertEquals(await open(), [true, false]);
    await show(2);
    assertEquals(await open(), [true, false]);
    assertEquals(await focused(), "summary More 0");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    assertEquals(await focused(), "button Test 1", "within the part, the focus moves as ever");
    await show(3);
    assertEquals(await focused(), "button Test 1", "the second of two that are the same");
    await page.locator("[data-part=balance] a").focus();
    await show(4);
    assertEquals(await focused(), "a Keys of version 4 0", "a link is known by where it leads");

    await page.getByRole("button", { name: "word" }).click();
    await page.getByText("Meaning 4").waitFor();
    await show(5);
    await page.getByText("Meaning 5").waitFor();
    await page.keyboard.press("Escape");

    await page.locator("[data-part=balance] input").fill("typed");
    release.resolve(versionOf(6));
    await page.waitForTimeout(300);
    assertEquals(await page.locator("[data-part=balance] input").inputValue(), "typed");
    await page.locator("[data-part=balance] button").first().focus();
    await page.locator("b", { hasText: "Version 6" }).waitFor(); // when nobody types any more
    assertEquals(await focused(), "button Test 0");

    await show(7, `<button type="button">Once</button>`);
    await page.getByRole("button", { name: "Once" }).focus();
    await show(8); // what had the focus is gone
    assertEquals(await page.evaluate("document.activeElement.dataset.part"), "balance");
    await page.keyboard.press("Tab");
    assertEquals(await focused(), "a Keys of version 8 0");
    assertEquals(faults, []);
  },
};
