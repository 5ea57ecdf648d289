/** The console's page of models: search, abilities, order, prices in dollars, other names. */

import axe from "axe-core";
import { assertEquals, assertStringIncludes } from "../../assert.ts";
import { AXE, inOneBrowser } from "../../fake/browser.ts";
import { startGateway } from "../../fake/gateway.ts";

const SETTINGS = {
  credits: { perUsd: 1_000 },
  aliases: { "gpt-4o": "claude-opus", "haiku-*": "house-small" },
  routes: {
    "claude-opus": {
      targets: [{ upstream: "simulator", model: "a" }],
      displayName: "Opus & <Friends>",
      prices: { input: 15_000, cached: 1_500, output: 75_000 },
      images: "remote" as const,
    },
    "house-small": {
      targets: [{ upstream: "simulator", model: "b" }],
      prices: { input: 10, cached: 10, output: 37 },
    },
    vectors: { kind: "embeddings" as const, dimensions: 256 },
  },
};

/** IDs of the models that a page lists, in its order. */
function idsOf(html: string): string[] {
  return [...html.matchAll(/<td class="primary"[^>]*><code>([^<]+)/g)].map(([, id]) => id!);
}

Deno.test("models are found by every word of their names, by alias, ability and in any order", async () => {
  await using gateway = await startGateway({ settings: SETTINGS });
  const find = async (query: string) => {
    const reply = await fetch(`${gateway.url}/console/models?${query}`);
    assertEquals(reply.status, 200);
    return await reply.text();
  };
  const ids = async (query: string) => idsOf(await find(query));
  const all = await ids("");
  assertEquals(all.length, 9);
  assertEquals(await ids("q=K2+code"), ["svc-k2.7-code"]);
  assertEquals(await ids("q=GPT-4O"), ["claude-opus"]);
  assertEquals(await ids("q=friends"), ["claude-opus"]);
  assertEquals(await ids("q=haiku-4-5"), ["house-small"], "a name that a pattern stands for");
  assertEquals(await ids("q=claude-svc-k3"), ["svc-k3"], "a name that every model has");
  assertEquals(await ids("can=embeddings"), ["vectors"]);
  assertEquals(await ids("can=tools&can=images&q=k2.5"), ["svc-k2.5"]);
  assertEquals((await ids("can=caching")).includes("house-small"), false);
  assertEquals((await ids("sort=input"))[0], "house-small");
  assertEquals((await ids("sort=output&can=images")).at(-1), "claude-opus");
  assertEquals((await ids("sort=context"))[0], "svc-k3");
  assertEquals(await ids("sort=constructor&can=toString&q=%20"), all, "what is unknown is dropped");

  const none = await find("q=%3Cscript%3E");
  assertStringIncludes(none, "No model matches.");
  assertStringIncludes(none, 'value="&lt;script&gt;"');
  assertStringIncludes(none, "0 of 9 models");
  const page = await find("q=opus");
  assertStringIncludes(page, "Opus &amp; &lt;Friends&gt;");
  assertStringIncludes(page, "$75.00");
  assertStringIncludes(await find("q=small"), "$0.037");
  assertStringIncludes(await find("q=small"), "haiku-*");
  assertEquals((await find("")).includes("claude-claude"), false);
});

Deno.test("prices are in credits only where no rate is set", async () => {
  await using gateway = await startGateway();
  const page = await (await fetch(`${gateway.url}/console/models`)).text();
  assertEquals(page.includes("$"), false);
});

inOneBrowser("models in a browser", {
  async "models are filtered while one types, and by the form without scripts"(pages) {
    await using gateway = await startGateway({ settings: SETTINGS });
    const { page, faults } = await pages("somebody", { reducedMotion: "reduce" });
    await page.addInitScript({ content: axe.source });
    await page.goto(`${gateway.url}/console/models`);
    await page.getByLabel("Search").pressSequentially("k2", { delay: 10 });
    await page.getByText("5 of 9 models").waitFor();
    assertEquals(await page.evaluate("document.activeElement.name"), "q");
    await page.getByLabel("images").check();
    await page.getByText("3 of 9 models").waitFor();
    await page.getByLabel("Sort by").selectOption("output");
    await page.waitForURL(/sort=output/);
    assertEquals(new URL(page.url()).search, "?q=k2&sort=output&can=images");
    assertEquals(await page.locator("td.primary").first().textContent(), "svc-k2.5K2.5");
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      assertEquals(await page.evaluate(AXE), []);
    }
    await page.reload();
    assertEquals(await page.getByLabel("Search").inputValue(), "k2");
    assertEquals(faults, []);

    const { page: plain } = await pages("without scripts", { javaScriptEnabled: false });
    await plain.goto(`${gateway.url}/console/models`);
    await plain.getByLabel("Search").fill("opus");
    await plain.getByLabel("images").check();
    await plain.getByRole("button", { name: "Search" }).click();
    await plain.getByText("1 of 9 models").waitFor();
  },
});
