/** What pages say in words: reasons, times in texts, names of keys, what an account lacks. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { sharedGateway } from "../../fake/shared_gateway.ts";
import { compactCss } from "../../../src/doors/console/assets.ts";
import { signedIn } from "../../fake/visitor.ts";
import { openShop } from "../../money/payments/shop.ts";

const OWNER = "owner@localhost";

async function textOf(reply: Promise<Response>): Promise<string> {
  return (await (await reply).text()).replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
}

Deno.test("home says that nothing is left, and what is owed, and where to get credits", async () => {
  await using shop = await openShop({
    settings: { tiers: [{ above: 0, minute: 9, hour: 99, day: 999 }] },
  });
  const account = await shop.account();
  const home = async () =>
    await textOf((await signedIn(shop.gateway, account.email)).get("/console/"));
  assert(!/You owe|No credits are left/.test(await home()), "a new account has its first steps");
  const order = await shop.buy(account);
  assertMatch(await home(), /counted in windows? window A minute, an hour or a day/);
  await shop.spend(account, 500);
  assertStringIncludes(await home(), "No credits are left, so requests are rejected. Get credits");
  await shop.deliver(shop.stripe.event("refund.created", shop.stripe.refund(order.paymentId)));
  assertStringIncludes(await home(), "You owe 500 credits, since a payment was refunded");
});

Deno.test("styles are served without comments and indentation, with all rules", async () => {
  assertEquals(compactCss("/* a\n b */\n.x {\n  y: z;\n}\n/* c */\n"), ".x{y: z;}");
  await using gateway = await startGateway();
  const served = await (await fetch(`${gateway.url}/console/assets/style.css`)).text();
  const file = await Deno.readTextFile(
    new URL("../../../src/doors/console/assets/style.css", import.meta.url),
  );
  assert(!served.includes("/*") && served.length < 0.9 * file.length);
  assertEquals(
    served.match(/[{};]/g)?.length,
    file.replaceAll(/\/\*[^]*?\*\//g, "").match(/[{};]/g)?.length,
  );
});

// those below share a gateway
const shared = sharedGateway();

shared("usage says reasons in words, and counts the requests that failed", async (gateway) => {
  assertEquals(await statusOf(gateway.chat("Hi [[status 503]]")), 503);
  const browser = await signedIn(gateway, OWNER);
  const text = await textOf(browser.get("/console/usage?by=reason&since=today"));
  assertStringIncludes(text, "upstream unavailable");
  assert(!text.includes("upstream_unavailable"), text);
  assertMatch(text, /Failed requests by hour and reason 1 request /);
  const [csv] = (await (await browser.get("/console/usage.csv?by=reason")).text()).split("\n")
    .slice(1);
  assertStringIncludes(csv!, "upstream_unavailable"); // programs read codes
});

shared("a reader's own notices do not name the reader", async (gateway) => {
  const { database } = gateway.gateway;
  const { id } = await gateway.gateway.accounts.get(OWNER);
  await database.batch([{
    sql: `insert into alerts (id, mark, kind, account_id, title, text, data, created_at_ms)
      values ('alert_1', 'm', 'key_expiring', ?, ?, ?, '{"at":"2030-01-01T10:00:00.000Z"}', 0)`,
    args: [
      id,
      `Low credits: ${OWNER}`,
      `The key a of ${OWNER} expires on 2030-01-01 10:00 UTC. <b>of ${OWNER}</b> ` +
      `Of ${OWNER}, of ${OWNER}.example and of ${OWNER}. Nothing of ${OWNER}.`,
    ],
  }]);
  const browser = await signedIn(gateway, OWNER);
  const own = await (await browser.get("/console/notices")).text();
  assertStringIncludes(own, "<strong>Low credits</strong>");
  assertStringIncludes(own, "The key a expires on <time");
  assertStringIncludes(own, "&lt;b&gt;of");
  assertStringIncludes(own, `Of ${OWNER}, of ${OWNER}.example and. Nothing.</span>`);
  const all = await (await browser.get("/console/operator/alerts")).text();
  assertStringIncludes(all, `Low credits: ${OWNER}`);
});

shared("a key without a name is called unnamed, not by its ID", async (gateway) => {
  const { accounts, keys } = gateway.gateway;
  const key = await keys.issue(await accounts.get(OWNER));
  const text = await textOf((await signedIn(gateway, OWNER)).get("/console/keys"));
  assertStringIncludes(text, `unnamed ${key.hint}`);
  assert(!text.includes(key.id), text);
});

shared(
  "errors of forms have the words of the form, and no commands of the shell",
  async (gateway) => {
    const { accounts, members, teams } = gateway.gateway;
    const lead = await accounts.create({ email: "lead@example.com" });
    const team = await teams.create({ name: "Platform", pool: true });
    await members.add(team, lead, "lead");
    const browser = await signedIn(gateway, lead.email);
    assertStringIncludes(
      await textOf(browser.get("/console/usage?by=nonsense")),
      "Group by: must be one of day",
    );
    const path = `/console/teams/${team.id}`;
    const reply = browser.post(`${path}/members`, { email: "nobody@example.com" }, { from: path });
    assertMatch(
      await textOf(reply),
      /Nobody has an account with the address nobody@example\.com: the person can register, or an operator creates one\./,
    );
    assertStringIncludes(await textOf(browser.get("/console/notices")), "No notices.");
    assertStringIncludes(
      await textOf(browser.get("/console/credits?month=2020-02")),
      "Closing balance",
    );
    assertStringIncludes(await textOf(browser.get("/console/credits")), "Balance now");
  },
);
