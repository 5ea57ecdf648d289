/** What strangers try, and what settings do between an order and its payment. */

import { audit } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { sharedServer } from "../../fake/shared_server.ts";
import { tempDir } from "../../fake/temp.ts";
import { PROOF } from "../../tier.ts";
import { fakeStripe } from "./fake_stripe.ts";
import { openShop, shopOf, shopSettings, startCheckout, tryCode } from "./shop.ts";

const outcome = (work: Promise<unknown>) => work.then(() => "redeemed", String);

// the gate has the same code at two gateways in operations_test.ts, and races of many at one
Deno.test(
  "a code that two accounts redeem at two gateways at once, while it is revoked, is worth its credits at most once",
  PROOF,
  async () => {
    await using dir = await tempDir();
    await using server = await sharedServer(dir.path);
    await using stripe = fakeStripe();
    const settings = { ...shopSettings(stripe), database: { url: server.url } };
    await using one = await startGateway({ settings });
    await using other = await startGateway({ settings });
    const shop = shopOf(one, stripe, { [Symbol.asyncDispose]: () => Promise.resolve() });
    const [ada, eve] = [await shop.account(), await shop.account()];
    let redeemed = 0;
    for (let round = 0; round < 8; round++) {
      const [made] = await one.gateway.codes.make({ credits: 100 });
      const { id, code } = made!;
      const [first, second, revoked] = await Promise.all([
        outcome(tryCode(one.gateway.codes, ada, code, `a ${round}`)),
        outcome(tryCode(other.gateway.codes, eve, code, `b ${round}`)),
        round % 2 === 0 ? "not tried" : outcome(other.gateway.codes.revoke(id)),
      ]);
      const count = [first, second].filter((text) => text === "redeemed").length;
      assert(
        count <= 1 && (count === 1 || revoked === "redeemed"),
        `${first} ${second} ${revoked}`,
      );
      if (count === 1) assert(revoked !== "redeemed", revoked);
      redeemed += count;
    }
    assertEquals(await shop.balance(ada) + await shop.balance(eve), 100 * redeemed);
    assertEquals((await audit(one.gateway.database)).mismatches, []);
  },
);

Deno.test("guessing codes is limited, however many run at once, at whatever gateway", async () => {
  await using shop = await openShop();
  const { codes } = shop.gateway.gateway;
  const [right] = await codes.make({ credits: 100 });
  const tries = async (accounts: number, client: (at: number) => string) => {
    const all = await Promise.all(
      Array.from({ length: accounts }, () => shop.account()),
    );
    const told = await Promise.all(
      all.flatMap((account, at) =>
        Array.from(
          { length: 20 },
          (_, nth) => outcome(tryCode(codes, account, `WRONG${at}X${nth}`, client(at * 20 + nth))),
        )
      ),
    );
    return {
      account: all[0]!,
      looked: told.filter((text) => text.includes("not valid")).length,
    };
  };
  const byAccount = await tries(1, (at) => `client ${at}`);
  assertEquals(byAccount.looked, 10);
  const why = await outcome(tryCode(codes, byAccount.account, right!.code, "client 99"));
  assertStringIncludes(why, "Too many codes");
  const { looked } = await tries(4, () => "one client");
  assert(looked <= 30, `${looked}`);
});

const SOLD = [{ id: "starter", name: "Starter", credits: 500, priceUsd: 4.99, validDays: null }];

Deno.test("a package that is removed, or sold in another currency, between order and payment is paid as it was ordered", async () => {
  await using shop = await openShop({ settings: { packages: SOLD } });
  const { gateway, stripe } = shop;
  const settings = shopSettings(stripe);
  const { stripe: sells } = settings.payments!;
  const ada = await shop.account();
  const removed = await shop.order(ada);
  const paid = stripe.pay(removed.sessionId);
  await gateway.reload({ ...settings, packages: [{ ...SOLD[0]!, id: "other" }] });
  await shop.deliver(paid);
  assertEquals([await shop.balance(ada), (await shop.again(removed)).needsLook], [500, ""]);

  await gateway.reload({ ...settings, packages: SOLD });
  const changed = await shop.order(ada);
  const late = stripe.pay(changed.sessionId);
  await gateway.reload({
    ...settings,
    packages: [{ ...SOLD[0]!, prices: { eur: 1 } }],
    payments: { stripe: { ...sells!, currency: "eur" } },
  });
  await shop.deliver(late);
  assertEquals([await shop.balance(ada), (await shop.again(changed)).needsLook], [1_000, ""]);
  await shop.assertClean();
});

Deno.test("a form that was sent before its package changed does not lead to the checkout of then", async () => {
  await using shop = await openShop({ settings: { packages: SOLD } });
  const { gateway, stripe } = shop;
  const settings = shopSettings(stripe);
  const { stripe: sells } = settings.payments!;
  const ada = await shop.account();
  const buy = () =>
    startCheckout(gateway.gateway.payments, ada, "starter", {
      origin: "console",
      reference: "form",
      returnTo: gateway.url,
    });
  stripe.faults.push("500", "500", "500", "500");
  await assertRejects(buy, Error, "cannot be used right now");
  stripe.faults.length = 0;
  const sessions = stripe.sessions.size;
  const [offer] = SOLD;
  const changes = [
    { packages: [{ ...offer!, credits: 600 }] },
    { packages: [{ ...offer!, models: ["svc-k2"] }] },
    {
      packages: [{ ...offer!, prices: { eur: 4.99 } }],
      payments: { stripe: { ...sells!, currency: "eur" } },
    },
    {
      packages: SOLD,
      payments: { stripe: { ...sells!, secretKey: sells!.secretKey.replace("_test_", "_live_") } },
    },
  ];
  for (const change of changes) {
    await gateway.reload({ ...settings, ...change });
    await assertRejects(buy, Error, "Reload the page");
  }
  assertEquals(stripe.sessions.size, sessions);
  await gateway.reload({ ...settings, packages: SOLD });
  assert((await buy()).url.startsWith("http"));
});

Deno.test("an automatic purchase of the other mode is never charged", async () => {
  await using shop = await openShop();
  const { gateway, stripe } = shop;
  const { payments, database } = gateway.gateway;
  const ada = await shop.account();
  await payments.turnOnTopUp(ada, { belowCredits: 100, packageId: "starter", maxPerMonth: 5 });
  await startCheckout(payments, ada, "starter", {
    origin: "console",
    reference: "1",
    returnTo: gateway.url,
    savesMethod: true,
  });
  await shop.deliver(stripe.pay([...stripe.sessions.keys()][0]!));
  await database.batch([{
    sql: `insert into orders (id, account_id, provider, origin, reference, package_id, package_name,
        credits, valid_days, amount, currency, livemode, lot_id, note, created_at_ms)
      select 'ord_live', account_id, provider, 'top_up', 'top-up 2000-01 1', package_id,
        package_name, credits, valid_days, amount, currency, 1, 'lot_ord_live', note, created_at_ms
      from orders where account_id = ?`,
    args: [ada.id],
  }]);
  await payments.runTopUps();
  assertEquals([stripe.intents.size, await shop.balance(ada)], [1, 500]);
  await shop.assertClean();
});
