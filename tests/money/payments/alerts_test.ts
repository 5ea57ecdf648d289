/** What goes wrong with automatic purchases is told: to receivers, the buyer and the operators. */

import { notices } from "../../../src/operating/alerts/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { alertReceiver } from "../../fake/alert_receiver.ts";
import { NO_PASSES } from "../../fake/gateway.ts";
import { signedIn } from "../../fake/visitor.ts";
import { openShop, startCheckout } from "./shop.ts";

const DAY_MS = 86_400_000;

Deno.test("an automatic top-up that stops has one alert for each stop, for its account and the operators", async () => {
  await using receiver = alertReceiver();
  let skewMs = 0;
  await using shop = await openShop({
    settings: {
      alerts: {
        dailyAudit: false,
        receivers: {
          ops: { url: receiver.url, secret: "secret", alerts: ["top_up_stopped"] },
        },
        allowPrivateHosts: [receiver.host],
      },
    },
    now: () => Date.now() + skewMs,
    alertTimes: NO_PASSES,
  });
  const { stripe, gateway } = shop;
  const { payments, paymentSweep: sweep, alerts, database, accounts } = gateway.gateway;
  const ada = await shop.account();
  const eve = await shop.account();
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
  /** Marks of alerts about stops, after two passes. */
  const told = async () => {
    for (let passes = 0; passes < 2; passes++) assert(await alerts.watch.pass());
    const all = await notices(database, { limit: 100 });
    return all.filter(({ kind }) => kind === "top_up_stopped").toReversed();
  };
  assertEquals(await told(), []);

  stripe.declines = true;
  await sweep.topUp();
  await Promise.all([sweep.topUp(), payments.runTopUps()]);
  const [first, ...others] = await told();
  assertEquals(others, []);
  const { stoppedAtMs } = (await payments.topUp(ada))!;
  assertEquals(first!.mark, `top_up_stopped:${ada.id}:${stoppedAtMs}`);
  assertStringIncludes(first!.text, "The payment failed (card declined). Nothing more is bought");
  assertEquals(first!.data, {
    email: ada.email,
    package: "starter",
    why: "The payment failed (card declined)",
    stopped_at: new Date(stoppedAtMs!).toISOString(),
  });
  await receiver.waitFor(1);

  const owner = await accounts.owner();
  const pages = [[ada.email, "/console/notices", true], [eve.email, "/console/notices", false], [
    owner!.email,
    "/console/operator/alerts",
    true,
  ]] as const;
  for (const [email, path, isShown] of pages) {
    const page = await (await (await signedIn(gateway, email)).get(path)).text();
    // one's own notices do not say whose they are
    const title = email === ada.email ? "" : `: ${ada.email}`;
    assertEquals(page.includes(`Automatic top-up stopped${title}`), isShown, path);
  }

  // it is turned on again, and stops again
  skewMs += 60_000;
  stripe.clockMs = skewMs;
  await payments.turnOnTopUp(ada, terms);
  assertEquals((await told()).length, 1);
  await sweep.topUp();
  assertEquals((await told()).length, 2);
  await receiver.waitFor(2);

  // and within the same half minute, before anybody looked: each stop is told
  for (let stops = 3; stops <= 4; stops++) {
    skewMs += 5_000;
    stripe.clockMs = skewMs;
    await payments.turnOnTopUp(ada, terms);
    await sweep.topUp();
    await receiver.waitFor(stops);
  }
  await payments.turnOnTopUp(ada, terms);
  assertEquals((await told()).length, 4);
  await payments.runTopUps();

  // the alert is forgotten, and what it was about lasts
  skewMs += 31 * DAY_MS;
  await database.batch([
    "delete from alert_deliveries",
    "delete from alerts where kind = 'top_up_stopped'",
  ].map((sql) => ({ sql, args: [] })));
  assertEquals(await told(), []);
  assertEquals(receiver.marks.filter((mark) => mark.startsWith("top_up_stopped")).length, 4);
});
