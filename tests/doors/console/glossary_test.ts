/** Words that explain themselves: by keyboard and touch, with and without scripts, within the screen. */

import axe from "axe-core";
import { assert, assertEquals, assertMatch } from "../../assert.ts";
import { GLOSSARY } from "../../../src/doors/console/glossary.tsx";
import { AXE, inBrowser } from "../../fake/browser.ts";
import { startGateway } from "../../fake/gateway.ts";

Deno.test("every word has a meaning of a sentence or two, in plain text", () => {
  for (const [word, meaning] of Object.entries(GLOSSARY)) {
    assertMatch(meaning, /^[A-Z][^<>]{20,200}\.$/, word);
  }
});

for (const javaScriptEnabled of [true, false]) {
  inBrowser(
    `words are explained on demand, ${javaScriptEnabled ? "with" : "without"} scripts`,
    async (browser) => {
      await using gateway = await startGateway({ settings: { consoleComponents: true } });
      const context = await browser.newContext({
        javaScriptEnabled,
        hasTouch: true,
        viewport: { width: 375, height: 700 },
        reducedMotion: "reduce",
      });
      if (javaScriptEnabled) await context.addInitScript({ content: axe.source });
      const page = await context.newPage();
      for (const path of ["/console/_components", "/console/models"]) {
        await page.goto(`${gateway.url}${path}`);
        const ids = await page.locator(".meaning").evaluateAll((all) => all.map(({ id }) => id));
        assertEquals(new Set(ids).size, ids.length);
        const open = page.locator(".meaning:popover-open");
        for (const word of await page.locator(".term").all()) {
          await word.focus();
          await page.keyboard.press("Enter");
          assertEquals(await open.count(), 1);
          const box = (await open.boundingBox())!;
          assert(
            box.x >= 0 && box.x + box.width <= 375,
            `${await word.textContent()} is on the screen`,
          );
          await page.keyboard.press("Escape");
          assertEquals(await open.count(), 0);
        }
        await page.locator(".term").last().tap();
        await open.waitFor();
        if (!javaScriptEnabled) continue;
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme });
          assertEquals(await page.evaluate(AXE), []);
        }
      }
    },
  );
}
