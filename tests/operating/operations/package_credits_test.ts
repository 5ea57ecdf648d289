/** Credits of what is made of a package: fixed by it, or named where it fixes none. */

import { assertEquals } from "../../assert.ts";
import { ownersClient } from "../../fake/admin_client.ts";
import { startGateway } from "../../fake/gateway.ts";

Deno.test("credits are named for a package that does not set them, and for no other (table)", async () => {
  await using gateway = await startGateway();
  const admin = await ownersClient(gateway);
  const account = gateway.gateway.owner.email;
  let { balance } =
    (await admin("POST", "/credits/grants", { body: { account, credits: 1 } })).json;
  const cases = [
    ["starter", undefined, 500],
    ["starter", 500, "refused"],
    ["starter", 5, "refused"],
    ["enterprise", 5, 5],
    ["enterprise", undefined, "refused"],
  ] as const;
  for (const [id, credits, given] of cases) {
    const body = { package: id, ...(credits !== undefined && { credits }) };
    const sold = await admin("POST", "/credits/sales", { body: { ...body, account } });
    assertEquals(sold.status === 400 ? "refused" : sold.json.balance - balance, given, sold.text);
    balance = sold.json.balance ?? balance;
    const made = await admin("POST", "/codes", { body });
    assertEquals(made.status === 400 ? "refused" : made.json.credits, given, made.text);
  }
});
