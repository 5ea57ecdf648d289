/**
 * Takes the pictures in docs/screenshots/: `deno task screenshots`. Needs a Chromium.
 *
 * Over a gateway with a month of made-up use and 100,000 requests, so that charts and tables have something to show.
 */

import type { BrowserContextOptions, Page } from "playwright-core";
import { grantStatements, newLotId, type UsageRecord } from "../../../src/money/ledger/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { startBrowser } from "../../fake/browser.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { addTeam, MANY_REQUESTS, settleAll } from "./rich.ts";

const OUTPUT = new URL("../../../docs/screenshots/", import.meta.url);
const DAY_MS = 86_400_000;
const ROUTES = ["svc-k2", "svc-k2.6", "svc-k3"];
const FAILURE = {
  failure: {
    reason: "upstream_unavailable",
    message: "No upstream is available for this model. Try again later.",
  },
  attemptList: [
    { upstream: "moonshot", model: "kimi-k3", key: "key 1", outcome: "status 503", durationMs: 22 },
    { upstream: "moonshot", model: "kimi-k3", key: "key 2", outcome: "timed out", durationMs: 31 },
  ],
};

await using gateway = await startGateway({
  settings: {
    publicUrl: "https://llm.example.com",
    tiers: [{ above: 0, minute: 500, hour: 15_000, day: 100_000 }],
  },
});
const { email: ada, failedId, teamId } = await populate(gateway);
await Deno.mkdir(OUTPUT, { recursive: true });
await using started = await startBrowser();

await shoot("home", "/console/", ada);
await shoot("home-dark-phone", "/console/", ada, {
  colorScheme: "dark",
  viewport: { width: 390, height: 844 },
});
await shoot("keys", "/console/keys", ada, {}, async (page) => {
  await page.locator("form[action='/console/keys']").getByLabel("Name").fill("laptop");
  await page.getByRole("button", { name: "Create key" }).click();
});
await shoot("usage", "/console/usage?by=model", ada);
await shoot("requests", "/console/requests", ada);
await shoot("request", `/console/requests/${failedId}`, ada);
await shoot("credits", "/console/credits", ada, {}, async (page) => {
  await page.getByRole("heading", { name: /^Statement/ }).scrollIntoViewIfNeeded();
  await page.locator("h2", { hasText: /^Statement/ }).evaluate((one) => one.scrollIntoView());
});
await shoot("playground", "/console/playground", ada, {}, async (page) => {
  await page.getByLabel("Model").selectOption("svc-k3");
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator("#answer").getByText("You said").waitFor();
  await page.waitForTimeout(1_000);
  await page.evaluate("scrollTo(0, 0)");
});
await shoot("models-dark", "/console/models", undefined, { colorScheme: "dark" });
await shoot("team", `/console/teams/${teamId}`, ada);
await shoot("operator-overview", "/console/operator?range=30d", "owner@localhost");
await shoot("operator-accounts", "/console/operator/accounts", "owner@localhost");
await shoot(
  "operator-account",
  "/console/operator/accounts",
  "owner@localhost",
  {},
  async (page) => {
    await page.getByRole("link", { name: ada }).click();
  },
);
await shoot("operator-routes", "/console/operator/routes", "owner@localhost");

async function shoot(
  name: string,
  path: string,
  email: string | undefined,
  options: BrowserContextOptions = {},
  prepare: (page: Page) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const context = await started.browser.newContext({
    viewport: { width: 1280, height: 800 },
    ...options,
  });
  const page = await context.newPage();
  if (email !== undefined) {
    const { accounts, sessions } = gateway.gateway;
    const token = await sessions.makeLink(await accounts.get(email));
    await page.goto(`${gateway.url}/console/link/${token}`);
  }
  await page.goto(`${gateway.url}${path}`);
  await prepare(page);
  await page.waitForTimeout(500); // live parts keep the network busy
  await page.screenshot({ path: new URL(`${name}.png`, OUTPUT).pathname });
  await context.close();
}

/** An account with keys, lots, people whom it brought, and a month of requests. */
async function populate(
  { gateway: parts }: TestGateway,
): Promise<{ readonly email: string; readonly failedId: string; readonly teamId: string }> {
  const email = "ada@example.com";
  const account = await parts.registration.register({ email, name: "Ada" });
  await parts.database.batch(grantStatements({ // what was spent before today was paid for
    lotId: newLotId(),
    accountId: account.id,
    source: "grant",
    note: "For the first month",
    credits: 1_000_000,
    expiresAtMs: null,
    atMs: Date.now() - 31 * DAY_MS,
  }));
  await parts.sales.sell(account, parts.sales.package("standard"), { paid: true });
  const inviteCode = await parts.accounts.inviteCode(account);
  for (const name of ["bob", "carol"]) {
    await parts.registration.register({ email: `${name}@example.com`, inviteCode });
  }
  const keys = [
    await parts.keys.issue(account, { name: "work" }),
    await parts.keys.issue(account, { name: "ci", models: ["svc-k2"], budgetCredits: 300_000 }),
  ];
  const now = Date.now();
  let failedId = "";
  const records = function* (): Generator<UsageRecord> {
    for (let index = 0; index < MANY_REQUESTS; index++) {
      const wave = 1 + Math.sin(index / 1_800);
      const startedAtMs = now - Math.floor(29 * DAY_MS * (1 - index / MANY_REQUESTS));
      const inputTokens = Math.round(400 + 3_000 * wave);
      const outputTokens = Math.round(80 + 500 * wave);
      const failed = index % 23 === 0;
      const requestId = newRequestId(startedAtMs);
      if (failed) failedId = requestId;
      yield {
        requestId,
        accountId: account.id,
        keyId: keys[index % 3 === 0 ? 1 : 0]!.id,
        dialect: index % 2 === 0 ? "messages" : "chat",
        route: ROUTES[index % ROUTES.length]!,
        upstream: "moonshot",
        upstreamModel: "kimi-k3",
        attempts: failed ? 2 : 1,
        status: failed ? 503 : 200,
        ending: failed ? "upstream_failed" : "complete",
        streamed: index % 2 === 0,
        usageSource: failed ? null : "upstream",
        inputTokens: failed ? 0 : inputTokens,
        cachedTokens: failed ? 0 : Math.floor(inputTokens / 3),
        outputTokens: failed ? 0 : outputTokens,
        reasoningTokens: 0,
        startedAtMs,
        firstTokenMs: failed ? null : 320 + index % 90,
        durationMs: failed ? 60 : 900 + Math.round(1_700 * wave),
        priceCredits: failed ? 0 : 3 + Math.round(4 * wave),
        ignored: index % 2 === 0 ? "top_k, thinking" : "",
        prices: failed ? null : { input: 100, cached: 25, output: 400, minimum: 1 },
        ...(failed ? FAILURE : {}),
        admittedAtMs: startedAtMs,
        settledAtMs: startedAtMs + 2_000,
      };
    }
  };
  await settleAll(parts.database, records());
  for (const { secret } of keys) {
    await (await gateway.chat("Hello", {}, { key: secret })).body?.cancel();
  }
  return { email, failedId, teamId: await addTeam(parts, email, ROUTES) };
}
