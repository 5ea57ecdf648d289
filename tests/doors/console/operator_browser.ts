import { assertEquals, assertMatch } from "../../assert.ts";
import type { Steps } from "../../fake/browser.ts";
import { startGateway } from "../../fake/gateway.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

export const OPERATOR_STEPS: Steps = {
  "an operator without scripts: overview, a test, a new price": async (pages) => {
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
    const { owner, sessions } = gateway.gateway;
    const { page } = await pages("without scripts", { javaScriptEnabled: false });
    await page.goto(`${gateway.url}/console/link/${await sessions.makeLink(owner)}`);
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
  },
};
