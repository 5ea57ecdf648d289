/** The webhook: who may say what, and how it is refused. */

import Stripe from "stripe";
import { encodeForm } from "../../../src/money/payments/stripe_client.ts";
import { respondToWebhook, type WebhookParts } from "../../../src/money/payments/webhook.ts";
import { signatureFault } from "../../../src/money/payments/webhook_signature.ts";
import { DatabaseError } from "../../../src/ground/database/mod.ts";
import { Secret } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import {
  decodeForm,
  fakeStripe,
  send,
  signatureOf,
  TEST_KEY,
  WEBHOOK_SECRET,
} from "./fake_stripe.ts";
import { openShop } from "./shop.ts";

const nowS = () => Math.floor(Date.now() / 1_000);
const encode = (text: string) => new TextEncoder().encode(text);

Deno.test("the webhook: only what was signed for it now, over the bytes that were sent, has an effect", async () => {
  const atMs = Date.now();
  await using shop = await openShop({ now: () => atMs });
  const atS = Math.floor(atMs / 1_000);
  const { gateway: { url }, stripe } = shop;
  const ada = await shop.account();
  const order = await shop.order(ada);
  const event = stripe.pay(order.sessionId);
  const payload = JSON.stringify(event, null, 2);
  const post = async (body: string, signature?: string) => {
    const response = await fetch(`${url}/webhooks/stripe`, {
      method: "POST",
      body,
      headers: signature === undefined ? {} : { "stripe-signature": signature },
    });
    return [response.status, await response.text()];
  };
  const refused = [400, '{"error":"invalid request"}'];
  const good = await signatureOf(payload, { timestamp: atS });
  const [t, v1] = good.split(",") as [string, string];
  const earlier = `t=${Number(t.slice(2)) - 1}`;
  for (
    const [what, body, signature] of [
      ["no signature", payload, undefined],
      ["an empty one", payload, ""],
      ["re-serialised", JSON.stringify(event), good],
      ["one byte more", `${payload} `, good],
      ["another secret", payload, await signatureOf(payload, { secret: "whsec_other" })],
      ["an empty secret", payload, await signatureOf(payload, { secret: "" })],
      ["301 s old", payload, await signatureOf(payload, { timestamp: atS - 301 })],
      ["302 s early", payload, await signatureOf(payload, { timestamp: atS + 302 })],
      ["a day early", payload, await signatureOf(payload, { timestamp: atS + 86_400 })],
      ["only v0", payload, `${t},${v1.replace("v1=", "v0=")}`],
      ["no time", payload, v1],
      ["another time", payload, `${earlier},${v1}`],
      ["two times", payload, `${earlier},${good}`],
      ["a time that is no number", payload, `t=1e9,${v1}`],
      ["upper case", payload, `${t},v1=${v1.slice(3).toUpperCase()}`],
      ["cut", payload, good.slice(0, -1)],
      ["too many", payload, `${t},${`${v1},`.repeat(9)}`],
      ["no JSON", "{", await signatureOf("{")],
      ["no event", "{}", await signatureOf("{}")],
      ["no object", "[]", await signatureOf("[]")],
      [
        "a thin event",
        '{"object":"v2.core.event","id":"evt_1"}',
        await signatureOf(
          '{"object":"v2.core.event","id":"evt_1"}',
        ),
      ],
    ] as const
  ) {
    await shop.gateway.leaves({ log: { "warn webhook refused": 1 } }, async () => {
      assertEquals(await post(body, signature), refused, what);
    });
  }
  assertEquals((await post(payload, `${t},v1=${"0".repeat(64)},${v1}`))[0], 200, "any of several");
  assertEquals(await shop.balance(ada), 500);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  assertStringIncludes(metrics, 'sluice_payment_webhooks_total{outcome="refused_time"} 3');
  assertStringIncludes(metrics, 'sluice_payment_webhooks_total{outcome="applied"} 1');
  assert(/outcome="refused_signature"\} [5-9]/.test(metrics), metrics);
  assertStringIncludes(shop.gateway.log(), '"reason":"refused_signature"');
  await shop.assertClean();
});

Deno.test("the webhook reads no more than 256 kB, whether the length is said or not", async () => {
  await using shop = await openShop();
  const { gateway: { url } } = shop;
  const payload = JSON.stringify({ text: "x".repeat(300_000) });
  assertEquals(await send(url, payload), 413);
  const chunks = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < 10; at++) controller.enqueue(encode("x".repeat(40_000)));
      controller.close();
    },
  });
  const response = await fetch(`${url}/webhooks/stripe`, { method: "POST", body: chunks });
  await response.body?.cancel();
  assertEquals(response.status, 413);
  assertEquals(await send(url, JSON.stringify({ text: "x".repeat(200_000) })), 400);
});

Deno.test("without settings there is no webhook; only POST, only its path, and no redirect", async () => {
  await using gateway = await startGateway();
  assertEquals(await send(gateway.url, "{}"), 404);
  await using shop = await openShop();
  for (
    const [method, path] of [
      ["GET", "/webhooks/stripe"],
      ["POST", "/webhooks/stripe/"],
      ["POST", "/webhooks"],
      ["POST", "/webhooks/paypal"],
    ] as const
  ) {
    const response = await fetch(`${shop.gateway.url}${path}`, { method, redirect: "manual" });
    await response.body?.cancel();
    assertEquals(response.status, 404, `${method} ${path}`);
  }
});

Deno.test("an empty secret verifies nothing, not even a signature that was made with it", async () => {
  const header = await signatureOf("{}", { secret: "" });
  for (const secret of ["", " "]) {
    await assertRejects(
      () => signatureFault(encode("{}"), header, { secret, nowMs: Date.now() }),
      TypeError,
    );
  }
});

Deno.test("a signature is looked at whole: one time, up to eight signatures, 2,000 characters, 300 s off", async () => {
  const body = encode("{}");
  const [t, v1] = (await signatureOf("{}", { timestamp: 1_000 })).split(",") as [string, string];
  const fault = (header: string, nowMs = 1_000_000) =>
    signatureFault(body, header, { secret: WEBHOOK_SECRET, nowMs });
  const others = (count: number) => `v1=${"0".repeat(64)},`.repeat(count);
  const padded = (chars: number) => `${t},${v1},`.padEnd(chars, "x");
  const rows: readonly [header: string, fault: string | undefined, nowMs?: number][] = [
    [`${t},${v1}`, undefined],
    [`${t},${v1}`, undefined, 1_300_000],
    [`${t},${v1}`, undefined, 700_000],
    [`${t},${v1}`, "time", 1_300_001],
    [`${t},${v1}`, "time", 699_999],
    [`${t},${v1},t=1`, "header"],
    [`${t},${v1},${t}`, "header"],
    [v1, "header"],
    [t, "header"],
    [`${t},${others(7)}${v1}`, undefined],
    [`${t},${others(8)}${v1}`, "header"],
    [padded(2_000), undefined],
    [padded(2_001), "header"],
  ];
  for (const [header, expected, nowMs] of rows) {
    assertEquals(await fault(header, nowMs), expected, `${header} ${nowMs}`);
  }
});

Deno.test("a webhook that breaks off is refused as such, and what the database says of one is logged", async () => {
  const counted: string[] = [];
  const faults: unknown[] = [];
  const log = {
    warn() {},
    error: (_: string, fields: { error: unknown }) => faults.push(fields.error),
  };
  const payload = JSON.stringify({
    object: "event",
    id: "evt_1",
    type: "customer.created",
    livemode: false,
    created: 1,
    data: { object: {} },
  });
  const call = async (body: BodyInit, error = new Error()) => {
    const parts = {
      database: { one: () => Promise.reject(error) },
      log,
      now: () => 1_000_000,
      livemode: false,
      bonusCredits: 0,
      webhookSecret: new Secret(WEBHOOK_SECRET),
      counted: (outcome: string) => counted.push(outcome),
    } as unknown as WebhookParts;
    const headers = { "stripe-signature": await signatureOf(payload, { timestamp: 1_000 }) };
    const request = new Request("http://x", { method: "POST", body, headers });
    return (await respondToWebhook(parts, request)).status;
  };
  const broken = new ReadableStream({
    pull(controller) {
      controller.error(new Error("it broke off"));
    },
  });
  assertEquals([await call(broken), counted.splice(0)], [400, ["refused_body"]]);
  for (
    const [error, said] of [
      [new DatabaseError("SQLITE_FULL", "it is full"), "it is full"],
      [new TypeError("ours"), "TypeError: ours"],
    ] as const
  ) {
    assertEquals([await call(payload, error), counted.splice(0)], [503, ["unavailable"]]);
    assertEquals(faults.splice(0), [said]);
  }
});

Deno.test("signatures agree with the official library, in both directions and at the edges", async () => {
  const { webhooks } = new Stripe(TEST_KEY);
  const payload = JSON.stringify({ id: "evt_1", object: "event", text: "é ☕ \u2028" }, null, 1);
  for (const [ageS, isRight] of [[0, true], [299, true], [301, false], [-299, true]] as const) {
    const timestamp = nowS() - ageS;
    const header = await signatureOf(payload, { timestamp });
    const fault = await signatureFault(encode(payload), header, {
      secret: WEBHOOK_SECRET,
      nowMs: nowS() * 1_000,
    });
    assertEquals(fault === undefined, isRight, String(ageS));
    const theirs = await webhooks.constructEventAsync(payload, header, WEBHOOK_SECRET)
      .then(() => true, () => false);
    assertEquals(theirs, isRight, `theirs ${ageS}`);
  }
});

Deno.test("forms and headers are those of the official library", async () => {
  const parameters = {
    mode: "payment",
    line_items: [{
      quantity: 1,
      price_data: {
        currency: "usd",
        unit_amount: 499,
        product_data: { name: "Starter: 500 credits & more=[x]" },
      },
    }],
    client_reference_id: "ord_1",
    metadata: { order_id: "ord_1", credits: "500" },
    payment_intent_data: { metadata: { order_id: "ord_1" } },
    adaptive_pricing: { enabled: false },
    expires_at: nowS() + 3_600,
    success_url: "https://host.example/console/orders/ord_1?session={CHECKOUT_SESSION_ID}",
  } as const;
  const seen: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    seen.push(await request.text());
    return Response.json({ id: "cs_1", object: "checkout.session" });
  });
  const official = new Stripe(TEST_KEY, {
    host: "127.0.0.1",
    port: server.addr.port,
    protocol: "http",
    telemetry: false,
  });
  await official.checkout.sessions.create(structuredClone(parameters) as never);
  await server.shutdown();
  assertEquals(decodeForm(encodeForm(parameters).toString()), decodeForm(seen[0]!));
});

const REFUSED = [
  ["an empty webhook secret", { secretKey: TEST_KEY, webhookSecret: "" }, "webhookSecret"],
  ["no webhook secret", { secretKey: TEST_KEY }, "webhookSecret"],
  ["an empty key", { secretKey: " ", webhookSecret: WEBHOOK_SECRET }, "secretKey"],
  ["a publishable key", {
    secretKey: TEST_KEY.replace("sk_", "pk_"),
    webhookSecret: WEBHOOK_SECRET,
  }, "secretKey"],
  ["secrets that were swapped", {
    secretKey: WEBHOOK_SECRET,
    webhookSecret: TEST_KEY,
  }, "secretKey"],
  ["a placeholder", {
    secretKey: "sk_live_xxxxxxxxxxxxxxxxxxxxxxxx",
    webhookSecret: WEBHOOK_SECRET,
  }, "placeholder"],
  ["another placeholder", {
    secretKey: TEST_KEY,
    webhookSecret: "whsec_your_placeholder_secret",
  }, "placeholder"],
  ["an unknown currency", {
    secretKey: TEST_KEY,
    webhookSecret: WEBHOOK_SECRET,
    currency: "xyz",
  }, "currency"],
  ["an address without TLS", {
    secretKey: TEST_KEY,
    webhookSecret: WEBHOOK_SECRET,
    apiBase: "http://api.example.com",
  }, "https"],
] as const;

Deno.test("payments that cannot be right are refused at start and on reload", async () => {
  await using shop = await openShop();
  for (const [what, stripe, fault] of REFUSED) {
    const settings = { payments: { stripe } } as never;
    const { message } = await assertRejects(() => startGateway({ settings }), Error);
    assertStringIncludes(message, "payments.stripe", what);
    assertStringIncludes(message, fault, what);
    for (const secret of [TEST_KEY, WEBHOOK_SECRET]) assert(!message.includes(secret), message);
    const reloaded = await shop.gateway.reload(settings);
    assertStringIncludes(reloaded.fault ?? "", fault, what);
    const ada = await shop.account();
    assertEquals((await shop.buy(ada)).state, "paid", `${what}: the settings in use stay`);
  }
});

Deno.test("a price that its currency cannot have is refused", async () => {
  await using stripe = fakeStripe();
  const settings = {
    packages: [{ id: "odd", name: "Odd", credits: 1, priceUsd: 4.995, validDays: null }],
    payments: {
      stripe: { secretKey: TEST_KEY, webhookSecret: WEBHOOK_SECRET, apiBase: stripe.url },
    },
  };
  const { message } = await assertRejects(() => startGateway({ settings }), Error);
  assertStringIncludes(message, "4.995");
  await using gateway = await startGateway({
    settings: { ...settings, packages: [{ ...settings.packages[0]!, priceUsd: 19.99 }] },
  });
  const { payments, sales } = gateway.gateway;
  assertEquals(payments.priceOf(sales.package("odd")), 1_999);
});

Deno.test("secrets come from the environment, with a line break at the end, and a reload replaces them", async () => {
  await using stripe = fakeStripe();
  await using gateway = await startGateway({
    env: {
      SLUICE_STRIPE_SECRET_KEY: `${TEST_KEY}\n`,
      SLUICE_STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    },
    settings: { payments: { stripe: { apiBase: stripe.url } } } as never,
  });
  const event = stripe.event("customer.created", { id: "cus_1", object: "customer" });
  assertEquals(await send(gateway.url, event), 200);
});

Deno.test("an order of a test is not touched by a live key, nor the other way round", async () => {
  await using shop = await openShop();
  const ada = await shop.account();
  const order = await shop.order(ada);
  const event = shop.stripe.pay(order.sessionId);
  const live = {
    secretKey: TEST_KEY.replace("_test_", "_live_"),
    webhookSecret: WEBHOOK_SECRET,
    apiBase: shop.stripe.url,
  };
  assertEquals((await shop.gateway.reload({ payments: { stripe: live } })).fault, null);
  assertEquals(await send(shop.gateway.url, event), 200);
  // even if the event says that it is of the live mode
  const lying = structuredClone(event) as unknown as {
    id: string;
    livemode: boolean;
    data: { object: { livemode: boolean } };
  };
  lying.id = "evt_lying";
  lying.livemode = lying.data.object.livemode = true;
  assertEquals(await send(shop.gateway.url, JSON.stringify(lying)), 200);
  const { asked } = await shop.gateway.gateway.payments.reconcile({ younger: true });
  assertEquals([asked, await shop.balance(ada)], [0, 0]);
  await shop.assertClean();
});
