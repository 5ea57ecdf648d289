import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { assert, assertEquals, assertMatch } from "../../assert.ts";
import { AXE, inBrowser, SETTLED, WIDER_THAN_SCREEN } from "../../fake/browser.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";
import { fillRichly, RICH_SETTINGS } from "./rich.ts";

const PAGES = [
  "operator",
  "operator?range=90d",
  "operator/upstreams",
  "operator/routes",
  "operator/routes/edit?route=model-1",
  "operator/log",
  "operator/live",
  "operator/invites",
];

/** A page of the owner. */
async function owners(
  browser: Browser,
  { url, gateway }: TestGateway,
  options: { javaScriptEnabled?: boolean } = {},
): Promise<Page> {
  const context = await browser.newContext(options);
  if (options.javaScriptEnabled !== false) {
    await context.addInitScript({ content: axe.source });
  }
  const page = await context.newPage();
  await page.goto(`${url}/console/link/${await gateway.sessions.makeLink(gateway.owner)}`);
  return page;
}

inBrowser("an operator without scripts: overview, a test, a new price", async (browser) => {
  await using upstream = fakeUpstream(({ path }) =>
    path.endsWith("/models")
      ? Response.json({ object: "list", data: [{ id: "gpt" }] })
      : completion("well")
  );
  await using gateway = await startGateway({
    settings: {
      upstreams: { house: { url: upstream.url } },
      routes: { small: { targets: [{ upstream: "house", model: "gpt" }] } },
    },
  });
  await (await gateway.chat("Hi", { model: "small" })).body?.cancel();
  const page = await owners(browser, gateway, { javaScriptEnabled: false });
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  assertMatch((await page.locator("main").textContent())!, /1 of 1 ok/);
  await page.getByRole("link", { name: "7 days" }).click();
  assertMatch(page.url(), /range=7d$/);
  await page.getByRole("link", { name: "Test and details" }).click();
  await page.getByRole("button", { name: "Test house now" }).click();
  await page.getByText("It listed 1 model.").waitFor();
  await page.getByRole("link", { name: "Routes" }).click();
  await page.getByRole("link", { name: "small" }).click();
  for (const [label, price] of [["Input", "7"], ["Cached input", "3"], ["Output", "21"]]) {
    await page.getByLabel(label!, { exact: true }).fill(price!);
  }
  await page.getByRole("button", { name: "Preview the changes" }).click();
  assertMatch((await page.locator(".diff .added").allTextContents()).join(""), /"output": 21/);
  await page.getByRole("button", { name: "Write the file and reload" }).click();
  await page.getByText("The settings file was written, and the gateway uses it.").waitFor();
  assertMatch((await page.locator("main").textContent())!, /7 \/ 3 \/ 21/);
  await page.getByRole("link", { name: "Log" }).click();
  assertMatch((await page.locator("main").textContent())!, /route\.write.*upstream\.test/);
  await page.goto(`${gateway.url}/console/operator/routes`);
  await page.getByRole("link", { name: "small" }).click();
  assertEquals(await page.getByLabel("Output", { exact: true }).inputValue(), "21");
});

inBrowser(
  "pages of operators: axe in both schemes, nothing wider than the screen",
  async (browser) => {
    await using upstream = fakeUpstream(({ path }) =>
      path.endsWith("/models") ? Response.json({}, { status: 404 }) : completion("well")
    );
    await using gateway = await startGateway({
      settings: {
        ...RICH_SETTINGS,
        upstreams: {
          "a-very-long-upstream-name.of-the-department.example": { url: upstream.url },
        },
        routes: {
          ...RICH_SETTINGS.routes,
          real: {
            targets: [{
              upstream: "a-very-long-upstream-name.of-the-department.example",
              model: "m",
            }],
          },
        },
      },
    });
    const { accountId } = await fillRichly(gateway);
    await (await gateway.chat("Hi", { model: "real" })).body?.cancel();
    const page = await owners(browser, gateway);
    const found: string[] = [];
    const look = async (name: string) => {
      for (const width of [375, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        assertEquals(await page.evaluate(WIDER_THAN_SCREEN), 0, `${name} at ${width}`);
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
          await page.evaluate(SETTLED);
          const faults = await page.evaluate<unknown[]>(AXE);
          if (faults.length > 0) {
            found.push(
              `${name} ${width} ${colorScheme}: ${JSON.stringify(faults)}`,
            );
          }
        }
      }
    };
    await page.goto(`${gateway.url}/console/operator/upstreams`);
    await page.getByRole("button", { name: /^Test a-very/ }).click();
    await page.getByText("lists no models").waitFor();
    await look("a test");
    await page.goto(`${gateway.url}/console/operator/routes/edit?route=model-1`);
    await page.getByLabel("Output", { exact: true }).fill("44");
    await page.getByRole("button", { name: "Preview the changes" }).click();
    await page.getByRole("button", { name: "Write the file and reload" }).waitFor();
    await look("a preview");
    for (const path of [...PAGES, `operator/accounts/${accountId}`]) {
      await page.goto(`${gateway.url}/console/${path}`);
      await look(path);
    }
    assertEquals(found, []);
    await page.goto(`${gateway.url}/console/operator`, { waitUntil: "load" });
    const bytes = await page.evaluate<number>(
      `["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type))
      .reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0)`,
    );
    assert(bytes > 20_000 && bytes < 130_000, String(bytes));
  },
);
