/** What `sluice doctor` says about payments, without their secrets. */

import { paymentHealth } from "../../../src/money/payments/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startCommand } from "../../fake/command.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir } from "../../fake/temp.ts";
import { fakeStripe, send, TEST_KEY, WEBHOOK_SECRET } from "./fake_stripe.ts";
import { openShop, shopSettings } from "./shop.ts";

const DAY_MS = 86_400_000;

Deno.test("webhooks, sweeps and orders that wait are noted in each mode", async () => {
  let skewMs = 0;
  const now = () => Date.now() + skewMs;
  await using shop = await openShop({ now });
  const { stripe, gateway } = shop;
  const { database, paymentSweep } = gateway.gateway;
  const health = (livemode = false) => paymentHealth(database, { livemode, nowMs: now() });
  const none = {
    lastWebhookAtMs: null,
    lastSweepAtMs: null,
    orders: 0,
    waiting: 0,
    oldestWaitingAtMs: null,
    needLook: 0,
  };
  assertEquals(await health(), none);
  stripe.faults.push("500", "500", "500", "500", "500", "500");
  await paymentSweep.sweep();
  assertEquals((await health()).lastSweepAtMs, null, "a sweep with faults is no success");
  stripe.faults.length = 0;
  const ada = await shop.account();
  const order = await shop.order(ada);
  const secret = { secret: "whsec_another_one_that_is_long" };
  assertEquals(
    await send(gateway.url, stripe.event("customer.created", { id: "cus_1" }), secret),
    400,
  );
  assertEquals((await health()).lastWebhookAtMs, null, "only what is genuine");
  await shop.buy(await shop.account());
  await paymentSweep.sweep();
  const { lastWebhookAtMs, lastSweepAtMs, ...orders } = await health();
  assert(now() - lastWebhookAtMs! < 30_000 && now() - lastSweepAtMs! < 30_000);
  assertEquals(orders, { orders: 2, waiting: 0, oldestWaitingAtMs: null, needLook: 0 });
  skewMs = 2 * DAY_MS;
  assertEquals([(await health()).waiting, (await health()).oldestWaitingAtMs], [
    1,
    order.createdAtMs,
  ]);
  assertEquals(await health(true), none);
});

Deno.test("doctor says how payments fare, and no secret", async () => {
  await using dir = await tempDir();
  await using stripe = fakeStripe();
  const write = (settings: unknown) =>
    Deno.writeTextFile(`${dir.path}/sluice.jsonc`, JSON.stringify(settings));
  const settings = { port: 0, data: "./data", ...shopSettings(stripe) };
  await write(settings);
  const outputs: string[] = [];
  const doctor = async (...args: string[]) => {
    const { out, err } = await sluice(["doctor", "--local", ...args], { directory: dir.path });
    outputs.push(out, err);
    return out;
  };
  const findings = async () => {
    const all: { check: string; state: string; detail: string }[] =
      JSON.parse(await doctor("--json")).findings;
    return Object.fromEntries(
      all.map(({ check, state, detail }) => [check, [state, detail]] as const),
    );
  };
  await Deno.mkdir(`${dir.path}/data`);
  {
    await using gateway = startCommand(["serve", "--port", "0"], { directory: dir.path });
    const [, url] = await gateway.waitFor(/listening on (\S+)/);
    const fresh = await findings();
    assertEquals(fresh.payments, ["ok", "test mode, webhook secret set"]);
    assertEquals(fresh.stripe![0], "warning");
    assertEquals(fresh.webhooks, ["ok", "none yet, and no orders either"]);
    assertEquals(fresh.sweep, ["warning", "no sweep has succeeded yet"]);
    assertEquals(await send(url!, stripe.event("customer.created", { id: "cus_1" })), 200);
    const text = await doctor();
    assertStringIncludes(text, "the last one came at 2");
    gateway.signal("SIGTERM");
    await gateway.status;
  }
  assertEquals((await findings()).sweep![0], "ok", "no gateway runs that should have swept");
  const { stripe: own } = settings.payments!;
  await write({
    ...settings,
    payments: { stripe: { ...own, apiBase: "https://api.stripe.com.example.net" } },
  });
  assertEquals((await findings()).stripe, [
    "failed",
    "api.stripe.com.example.net is not Stripe's host api.stripe.com, and gets the secret key",
  ]);
  await write({
    ...settings,
    payments: {
      stripe: { secretKey: TEST_KEY.replace("_test_", "_live_"), webhookSecret: "${NOT_SET}" },
    },
  });
  const live = await findings();
  assertStringIncludes(live.payments!.join(), "warning,live mode; the variable of the webhook");
  assertEquals(live.stripe, ["ok", "api.stripe.com"]);
  for (const one of outputs) {
    assert(!one.includes(TEST_KEY.slice(8)) && !one.includes(WEBHOOK_SECRET.slice(6)), one);
  }
});
