import { audit } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { customer } from "../../fake/customer.ts";
import { startGateway } from "../../fake/gateway.ts";
import { lendToGone } from "../../fake/ledger.ts";
import { signedIn } from "../../fake/visitor.ts";

const PAGE = "/console/operator/audit";

Deno.test("the audit's page lists gateways that are gone with what they were lent, and writes it off", async () => {
  await using gateway = await startGateway();
  const { accounts, database, keys } = gateway.gateway;
  const browser = await signedIn(gateway, "owner@localhost");
  const page = async () => await (await browser.get(PAGE)).text();
  assert(!(await page()).includes("Lent to gateways that are gone"));
  const { accountId } = await customer(gateway, 100);
  const account = (await accounts.byId(accountId))!;
  const bounded = await keys.issue(account, { budgetCredits: 50 });
  await lendToGone(database, accountId, { credits: 40 });
  await lendToGone(database, accountId, { credits: 25, keyId: bounded.id });
  const other = await keys.issue(account, { budgetCredits: 50 });
  await lendToGone(database, accountId, { credits: 5, keyId: other.id });
  const shown = await page();
  assertStringIncludes(shown, "Lent to gateways that are gone");
  assert(/gw_gone[^]*70[^]*Write off/.test(shown), shown);
  const words = shown.replaceAll(/<[^>]*>/g, "");
  const [first, last] = [bounded.id, other.id].toSorted();
  assertStringIncludes(words, `${first}, ${last}`);
  const csrf = await browser.token(PAGE);
  const send = (note: string) =>
    browser.post(`${PAGE}/write-off`, { gateway: "gw_gone", note, csrf });
  assertEquals((await send("")).status, 400, "a note is needed");
  assertEquals((await send("disk lost")).status, 303);
  assert(!(await page()).includes("gw_gone"));
  const again = await send("disk lost");
  assertEquals(again.status, 400);
  assertStringIncludes(await again.text(), "not found");
  const { mismatches, writtenOff } = await audit(database);
  assertEquals([mismatches, writtenOff], [[], { loans: 3, credits: 70 }]);
});
