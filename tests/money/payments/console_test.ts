/** Buying in the console, without scripts: whose order is whose, what pages say, and codes. */

import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { PlainBrowser, signedIn } from "../../fake/visitor.ts";
import { send } from "./fake_stripe.ts";
import { openShop, startCheckout, tryCode } from "./shop.ts";

const PAGE = "/console/credits";

/** The hidden fields of the form on a page that leads somewhere. */
async function fieldsOf(browser: PlainBrowser, action: string): Promise<Record<string, string>> {
  const text = await (await browser.get(PAGE)).text();
  const [form = ""] = new RegExp(`<form[^>]*action="${action}"[\\s\\S]*?</form>`).exec(text) ?? [];
  return Object.fromEntries(
    [...form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)]
      .map(([, name, value]) => [name!, value!]),
  );
}

async function text(browser: PlainBrowser, path: string): Promise<string> {
  const response = await browser.get(path);
  assertEquals(response.status, 200, path);
  return await response.text();
}

Deno.test("a checkout leads to Stripe; the landing page shows the order, and pays it if the webhook is late", async () => {
  await using shop = await openShop();
  const { stripe, gateway } = shop;
  const ada = await shop.account();
  const browser = await signedIn(gateway, ada.email);
  const fields = await fieldsOf(browser, "/console/checkout");
  const form = await browser.get(PAGE);
  await form.body?.cancel();
  const policy = form.headers.get("content-security-policy") ?? "";
  assertStringIncludes(policy, "form-action 'self';");
  const going = await browser.post("/console/checkout", fields);
  const [id, session] = [...stripe.sessions][0]!;
  const pay = `/console/orders/${session.client_reference_id}/pay`;
  assertEquals([going.status, going.headers.get("location")], [303, pay]);
  const again = await browser.post("/console/checkout", fields);
  assertEquals([again.headers.get("location"), stripe.sessions.size], [pay, 1]);
  const leaving = await browser.get(pay);
  assertEquals(leaving.headers.get("content-security-policy"), policy);
  const leads = await leaving.text();
  assertStringIncludes(leads, `<meta http-equiv="refresh" content="0; url=${session.url}"`);
  assertStringIncludes(leads, `href="${session.url}"`);
  const landing = String(session.success_url).replace("{CHECKOUT_SESSION_ID}", id)
    .slice(gateway.url.length);
  assertStringIncludes(await text(browser, landing), "waiting for Stripe");
  assertEquals(await shop.balance(ada), 0, "coming back is no payment");

  const event = stripe.pay(id); // the webhook has not come
  const eve = await signedIn(gateway, (await shop.account()).email);
  assertEquals(await statusOf(eve.get(landing)), 404);
  assertEquals(await statusOf(eve.get(landing.replace(/\?.*/, ""))), 404);
  assertEquals(await statusOf(eve.get(pay)), 404);
  assertEquals(await shop.balance(ada), 0, "nobody else claims a session");
  assertEquals(await statusOf(browser.get(landing.replace(id, "cs_test_other"))), 404);
  const nobody = await new PlainBrowser(gateway.url).get(landing);
  assertEquals(nobody.headers.get("location"), "/console/sign-in");

  assertStringIncludes(await text(browser, landing), "The credits are in your balance");
  assertEquals(await shop.balance(ada), 500);
  const paid = await browser.get(pay);
  assertEquals([paid.status, paid.headers.get("location")], [303, pay.replace("/pay", "")]);
  assertEquals(await send(gateway.url, event), 200);
  assertEquals(await shop.balance(ada), 500);
  const order = `/console/orders/${String(session.client_reference_id)}`;
  const receipt = await text(browser, `${order}/receipt`);
  for (const part of ["R-000001", "4.99 USD", "Starter, 500 credits", ada.email, "was a test"]) {
    assertStringIncludes(receipt, part);
  }
  assertEquals(await statusOf(eve.get(`${order}/receipt`)), 404);
  assertStringIncludes(await text(browser, PAGE), "Receipt R-000001");
  await shop.assertClean();
});

Deno.test("the statement of a month has what was paid and what went back, as a page and as CSV", async () => {
  await using shop = await openShop();
  const { stripe, gateway } = shop;
  const ada = await shop.account();
  const order = await shop.buy(ada);
  await shop.deliver(stripe.event("refund.created", stripe.refund(order.paymentId, 99)));
  const browser = await signedIn(gateway, ada.email);
  const page = await text(browser, "/console/statement");
  for (const part of ["Paid: Starter", "4.99 USD (test)", "Refund: Starter", "−0.99 USD (test)"]) {
    assertStringIncludes(page, part);
  }
  const month = new Date().toISOString().slice(0, 7);
  const csv = await text(browser, `/console/statement.csv?month=${month}`);
  assertEquals(
    csv.trim().split("\r\n").slice(1).map((line) => line.split(",").slice(1).toSpliced(1, 1)),
    [
      ["paid", "R-000001", "Starter", "500", "4.99", "usd", "test"],
      ["refunded", "R-000001", "Starter", "500", "-0.99", "usd", "test"],
    ],
  );
  assertStringIncludes(await text(browser, "/console/statement?month=2020-01"), "No payments");
  for (const odd of ["2020-13", "x", "2026-11-01", "<b>"]) {
    await text(browser, `/console/statement?month=${encodeURIComponent(odd)}`);
  }
});

Deno.test("without online payment the page says whom to ask; buttons and forms lead nowhere", async () => {
  await using gateway = await startGateway({
    settings: { payments: { contact: "sales@example.com" } },
  });
  const ada = await gateway.gateway.registration.register({ email: "ada@example.com" });
  const browser = await signedIn(gateway, ada.email);
  const page = await text(browser, PAGE);
  assertStringIncludes(page, "Online payment is not available");
  assertStringIncludes(page, 'href="mailto:sales@example.com"');
  assert(!page.includes("/console/checkout"), page);
  const reply = await browser.post("/console/checkout", { package: "starter", form: "x" }, {
    from: "/console/keys",
  });
  assertEquals(reply.status, 400);
  assertStringIncludes(await reply.text(), "not configured");
});

Deno.test("forms of buying need their token, come from this console, and name what they are about", async () => {
  await using shop = await openShop();
  const ada = await shop.account();
  const browser = await signedIn(shop.gateway, ada.email);
  const fields = await fieldsOf(browser, "/console/checkout");
  for (
    const [given, headers, status] of [
      [{ ...fields, csrf: "0" }, {}, 403],
      [fields, { "sec-fetch-site": "cross-site" }, 403],
      [{ ...fields, package: "enterprise" }, {}, 400],
      [{ ...fields, package: "<b>" }, {}, 400],
      [{ ...fields, form: "" }, {}, 400],
    ] as const
  ) {
    assertEquals(await statusOf(browser.post("/console/checkout", given, { headers })), status);
  }
  shop.stripe.down = true;
  const reply = await browser.post("/console/checkout", fields);
  assertEquals(reply.status, 400);
  assertStringIncludes(await reply.text(), "Nothing was charged");
  assertEquals(shop.stripe.sessions.size, 0);
});

Deno.test("a code works once; wrong ones are limited per account and per client", async () => {
  await using shop = await openShop();
  const { codes, sales } = shop.gateway.gateway;
  const [ada, eve] = [await shop.account(), await shop.account()];
  const [first] = await codes.make({ offer: sales.package("standard"), note: "fair" });
  const browser = await signedIn(shop.gateway, ada.email);
  const redeem = async (by: PlainBrowser, code: string) => {
    const reply = await by.post("/console/redeem", { code }, { from: PAGE });
    if (reply.status === 303) return [303, ""];
    return [reply.status, /role="status">([^<]*)/.exec(await reply.text())?.[1] ?? ""];
  };
  const typed = ` ${first!.code.toLowerCase().replaceAll("-", " ")}`;
  assertEquals(await redeem(browser, typed), [303, ""]);
  assertEquals(await shop.balance(ada), 5_000);
  const other = await signedIn(shop.gateway, eve.email);
  for (const by of [browser, other]) assertEquals((await redeem(by, first!.code))[0], 400);
  assertEquals([await shop.balance(ada), await shop.balance(eve)], [5_000, 0]);
  assert(
    !JSON.stringify(await shop.gateway.gateway.database.all("select * from redemption_codes"))
      .includes(first!.code.replaceAll("-", "")),
  );

  const [right] = await codes.make({ credits: 7 });
  for (let tries = 0; tries < 12; tries++) await redeem(other, `AAAA-BBBB-CCCC-${2_000 + tries}`);
  const [status, why] = await redeem(other, right!.code);
  assertEquals([status, String(why).includes("Too many")], [400, true]);
  assertEquals(await shop.balance(eve), 0);
  await shop.assertClean();
});

Deno.test("codes: ten at once redeem one once; expired and revoked ones are not valid", async () => {
  let skewMs = 0;
  await using shop = await openShop({ now: () => Date.now() + skewMs });
  const { codes } = shop.gateway.gateway;
  const accounts = await Promise.all(Array.from({ length: 10 }, () => shop.account()));
  const [one] = await codes.make({ credits: 100, validDays: 3 });
  const tried = await Promise.allSettled(
    accounts.flatMap((account, at) => [
      tryCode(codes, account, one!.code, `client ${at}`),
      tryCode(codes, account, one!.code, `client ${at}`),
    ]),
  );
  assertEquals(tried.filter(({ status }) => status === "fulfilled").length, 1);
  const balances = await Promise.all(accounts.map((account) => shop.balance(account)));
  assertEquals(balances.reduce((sum, one) => sum + one), 100);

  const [late, gone] = await codes.make({
    credits: 5,
    count: 2,
    expiresAtMs: Date.now() + 60_000,
  });
  await codes.revoke(gone!.id);
  await codes.revoke(gone!.id);
  skewMs = 61_000;
  for (const { code } of [late!, gone!]) {
    const failed = await tryCode(codes, accounts[0]!, code, "c").then(() => "", String);
    assertStringIncludes(failed, "not valid");
  }
  assertStringIncludes(await codes.revoke(one!.id).then(() => "", String), "redeemed already");
  await shop.assertClean();
});

Deno.test("automatic top-up buys below its mark, so often a month, with the method of the first payment", async () => {
  await using shop = await openShop();
  const { stripe, gateway } = shop;
  const sweep = gateway.gateway.paymentSweep;
  const ada = await shop.account();
  const browser = await signedIn(gateway, ada.email);
  const fields = await fieldsOf(browser, "/console/top-up");
  const going = await browser.post("/console/top-up", {
    ...fields,
    below: "100",
    package: "starter",
    max: "2",
    turn: "on",
  });
  const [id] = [...stripe.sessions.keys()];
  const pay = going.headers.get("location")!;
  assertStringIncludes(await text(browser, pay), `0; url=${stripe.url}/pay/${id}`);
  await sweep.topUp();
  assertEquals(stripe.calls.filter((one) => one.includes("payment_intents")), []);
  await shop.deliver(stripe.pay(id!));
  await sweep.topUp();
  assertEquals(await shop.balance(ada), 500, "it is not low");
  for (const expected of [500 + 50, 500 + 50, 50]) {
    await shop.spend(ada, await shop.balance(ada) - 50);
    await Promise.all([sweep.topUp(), gateway.gateway.payments.runTopUps()]);
    assertEquals(await shop.balance(ada), expected, "two purchases a month");
  }
  const intents = [...stripe.intents.values()].slice(1);
  for (const intent of intents) {
    await shop.deliver(stripe.event("payment_intent.succeeded", intent));
  }
  assertEquals(await shop.balance(ada), 50);
  await shop.assertClean();
  const off = { ...await fieldsOf(browser, "/console/top-up"), turn: "off" };
  assertEquals(await statusOf(browser.post("/console/top-up", off)), 303);
  assertEquals((await gateway.gateway.payments.topUp(ada))?.hasMethod, false);
});

Deno.test("automatic top-up stops at the first failure, says so, and begins again only when it is turned on", async () => {
  await using shop = await openShop();
  const { stripe, gateway } = shop;
  const { payments, paymentSweep: sweep } = gateway.gateway;
  const ada = await shop.account();
  const terms = { belowCredits: 100, packageId: "starter", maxPerMonth: 5 };
  await payments.turnOnTopUp(ada, terms);
  await startCheckout(payments, ada, "starter", {
    origin: "console",
    reference: "1",
    returnTo: gateway.url,
    savesMethod: true,
  });
  await shop.deliver(stripe.pay([...stripe.sessions.keys()][0]!));
  await shop.spend(ada, 450);
  // the service is away, or the answer is lost: nothing stops, and one payment is made in the end
  stripe.faults.push("500", "500");
  await sweep.topUp();
  stripe.faults.push("reset", "reset");
  await sweep.topUp();
  await sweep.topUp();
  assertEquals(await shop.balance(ada), 550);
  assertEquals(stripe.intents.size, 2);

  await shop.spend(ada, 500);
  stripe.declines = true;
  for (let runs = 0; runs < 3; runs++) await sweep.topUp();
  assertEquals([await shop.balance(ada), stripe.intents.size], [50, 3], "no burst");
  const stopped = await payments.topUp(ada);
  assertStringIncludes(stopped?.stopped ?? "", "card declined");
  assertStringIncludes(gateway.log(), "automatic top-up stopped");
  const browser = await signedIn(gateway, ada.email);
  assertStringIncludes(await text(browser, PAGE), "Nothing is bought until you turn it on again");
  stripe.declines = false;
  await sweep.topUp();
  assertEquals(await shop.balance(ada), 50);
  await payments.turnOnTopUp(ada, terms);
  await sweep.topUp();
  assertEquals(await shop.balance(ada), 550);
  await shop.assertClean();
});

Deno.test("automatic top-up does not pay into a dispute or a debt", async () => {
  await using shop = await openShop();
  const { stripe, gateway } = shop;
  const { payments } = gateway.gateway;
  const ada = await shop.account();
  await payments.turnOnTopUp(ada, { belowCredits: 100, packageId: "starter", maxPerMonth: 5 });
  const { order } = await startCheckout(payments, ada, "starter", {
    origin: "console",
    reference: "1",
    returnTo: gateway.url,
    savesMethod: true,
  });
  await shop.deliver(stripe.pay(order.sessionId!));
  await shop.spend(ada, 450);
  const { paymentId } = await shop.again(order);
  await shop.deliver(
    stripe.event("charge.dispute.created", stripe.dispute(paymentId!, "needs_response")),
  );
  await payments.runTopUps();
  assertEquals([await shop.balance(ada), stripe.intents.size], [0, 1]);
  assertStringIncludes((await payments.topUp(ada))?.stopped ?? "", "disputed");
});
