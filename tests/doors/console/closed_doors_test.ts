import { assertEquals, assertStringIncludes } from "../../assert.ts";
import { customer } from "../../fake/customer.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { PlainBrowser, signedIn } from "../../fake/visitor.ts";

const OWNER = "owner@localhost";
const PASSWORD = "a long enough password";

Deno.test("a disabled account's session ends at once, no matter who disabled it; its links and password work no more", async () => {
  await using gateway = await startGateway();
  const { accounts, sessions, passwords } = gateway.gateway;
  const ada = await customer(gateway, 10);
  const account = await accounts.get(ada.email);
  await passwords.set(account, PASSWORD);
  const browser = await signedIn(gateway, ada.email);
  const csrf = await browser.token("/console/keys");
  const link = await sessions.makeLink(account);
  await accounts.disable(ada.email); // as the command does: its sessions stay in the database
  for (const path of ["/console/", "/console/keys", "/console/account", "/console/credits"]) {
    assertEquals(await statusOf(browser.get(path)), 303, path);
  }
  const made = await browser.post("/console/keys", { name: "afterwards", csrf });
  assertEquals([made.status, made.headers.get("location")], [303, "/console/sign-in?done=unsent"]);
  assertEquals((await gateway.gateway.keys.list(account)).length, 1);
  const stranger = new PlainBrowser(gateway.url);
  assertEquals(await statusOf(stranger.get(`/console/link/${link}`)), 404);
  const fields = { email: ada.email, password: PASSWORD };
  assertEquals(await statusOf(stranger.post("/console/sign-in", fields)), 401);
});

Deno.test("an operator's page about one account revokes no key of another", async () => {
  await using gateway = await startGateway();
  const [ada, bob] = [await customer(gateway, 10), await customer(gateway, 10)];
  const { accounts, keys } = gateway.gateway;
  const [theirs] = await keys.list(await accounts.get(bob.email));
  const operator = await signedIn(gateway, OWNER);
  const page = `/console/operator/accounts/${ada.accountId}`;
  const refused = await operator.post(`${page}/keys/${theirs!.id}/revoke`, {}, { from: page });
  assertEquals(refused.status, 400);
  assertStringIncludes(await refused.text(), "Key not found in this account");
  assertEquals((await keys.byId(theirs!.id))!.revokedAtMs, null);
  assertEquals(await statusOf(gateway.chat("Hi", {}, { key: bob.keys[0]! })), 200);
});
