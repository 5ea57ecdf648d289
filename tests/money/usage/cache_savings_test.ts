/** What prompt caches saved: by the prices of each charge, exactly, wherever it is shown. */

import type { SettingsInput } from "../../../src/settings/config/mod.ts";

import { reportUsage, Retention, usageQuery } from "../../../src/money/usage/mod.ts";
import { assertEquals, assertStringIncludes } from "../../assert.ts";
import { assertLedgerClean } from "../../fake/customer.ts";
import { startGateway, statusOf, type TestGateway } from "../../fake/gateway.ts";
import { sluice } from "../../fake/shell.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";
import { signedIn } from "../../fake/visitor.ts";

/** A time after all requests. */
const NOW = Date.UTC(2031, 0);

/** As long as makes what is reported of it credible. */
const PROMPT = "word ".repeat(30_000);

/** A reply that reports input tokens, some of them cached. */
function reporting(input: number, cached: number) {
  return completion("well", {
    usage: {
      prompt_tokens: input,
      completion_tokens: 10,
      total_tokens: input + 10,
      prompt_tokens_details: { cached_tokens: cached },
    },
  });
}

function settingsFor(url: string, prices: { input: number; cached: number }): SettingsInput {
  return {
    upstream: { url },
    routes: { "svc-k2": { prices: { ...prices, output: 100 } } },
  } as SettingsInput;
}

async function reported({ gateway: { accounts, database, owner, teams } }: TestGateway) {
  const query = usageQuery.parse({ account: owner.email });
  return (await reportUsage({ database, accounts, teams, now: () => NOW }, query)).totals;
}

Deno.test("cached tokens save the difference of the input prices, in the report, the command and the console", async () => {
  await using upstream = fakeUpstream(() => reporting(100_000, 60_000));
  await using gateway = await startGateway({
    settings: settingsFor(upstream.url, { input: 500, cached: 50 }),
  });
  for (let times = 0; times < 3; times++) assertEquals(await statusOf(gateway.chat(PROMPT)), 200);
  // 3 × 60,000 × (500 − 50) / 1,000,000 = 81
  const { saved_credits, input_tokens, cached_tokens } = await reported(gateway);
  assertEquals([saved_credits, input_tokens, cached_tokens], [81, 300_000, 180_000]);

  const browser = await signedIn(gateway, gateway.gateway.owner.email);
  const page = await (await browser.get("/console/usage")).text();
  assertStringIncludes(page, "60\u00a0% of the input was cached");
  const csv = await (await browser.get("/console/usage.csv?by=model")).text();
  const [head, row] = csv.trim().split("\r\n").map((line) => line.split(","));
  assertEquals(row![head!.indexOf("saved_credits")], "81");

  const file = `${gateway.directory}/sluice.jsonc`;
  const { out } = await sluice(["usage", "--by", "model", "--json", "--config", file], {
    directory: gateway.directory,
  });
  const [told] = JSON.parse(out).rows;
  assertEquals([told.cache_hit_rate, told.saved_credits], [0.6, 81]);
  await assertLedgerClean(gateway);
});

Deno.test("savings below a credit add up before they are rounded down; dearer cached input saves nothing", async () => {
  await using upstream = fakeUpstream(() => reporting(1_000, 500));
  await using gateway = await startGateway({
    settings: settingsFor(upstream.url, { input: 501, cached: 1 }),
  });
  for (let times = 0; times < 7; times++) await statusOf(gateway.chat(PROMPT));
  assertEquals((await reported(gateway)).saved_credits, 1); // 7 × 0.25 = 1.75
  await using dearer = await startGateway({
    settings: settingsFor(upstream.url, { input: 100, cached: 200_000 }),
  });
  await statusOf(dearer.chat("Hi"));
  assertEquals((await reported(dearer)).saved_credits, 0);
});

Deno.test("prices beyond reason settle all the same", async () => {
  await using upstream = fakeUpstream(() => reporting(1_000, 1_000));
  await using gateway = await startGateway({
    settings: {
      ...settingsFor(upstream.url, { input: Number.MAX_SAFE_INTEGER, cached: 0 }),
      credits: { ownerGrant: 1e12 },
    },
  });
  const reply = await gateway.chat("Hi", { max_tokens: 1 });
  assertEquals(reply.status, 200, await reply.text());
  assertEquals((await reported(gateway)).saved_credits, 1e9);
});

Deno.test("savings stay in the report when their records are pruned, and the audit explains them", async () => {
  let nowMs = Date.UTC(2030, 0, 1, 12);
  await using upstream = fakeUpstream(() => reporting(100_000, 60_000));
  await using gateway = await startGateway({
    settings: settingsFor(upstream.url, { input: 500, cached: 50 }),
    now: () => nowMs,
  });
  for (let times = 0; times < 2; times++) assertEquals(await statusOf(gateway.chat(PROMPT)), 200);
  nowMs += 10 * 86_400_000;
  const { database } = gateway.gateway;
  const log = { warn: () => {} } as never;
  assertEquals(
    await new Retention({ database, log, now: () => nowMs, days: 5, rows: 1e6 }).prune(),
    2,
  );
  assertEquals((await reported(gateway)).saved_credits, 54);
  await assertLedgerClean(gateway);
});
