/** Free credits are bounded: email addresses are not verified. */

import { creditsOf } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { assertLedgerClean } from "../../fake/customer.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";

const HOUR_MS = 3_600_000;

async function scene(nowMs: () => number) {
  const gateway = await startGateway({ now: nowMs });
  const { accounts, registration } = gateway.gateway;
  const thief = await registration.register({ email: "thief@example.com" });
  const code = await accounts.inviteCode(thief);
  const balance = async (email: string) =>
    (await creditsOf(gateway.gateway.database, (await accounts.get(email)).id, nowMs())).balance;
  return { gateway, registration, code, balance };
}

/** Credits of all accounts but the owner's. */
async function given({ gateway }: TestGateway): Promise<number> {
  const row = await gateway.database.one(
    "select sum(granted) as credits from lots where source <> 'owner'",
  );
  return Number(row!.credits);
}

Deno.test("invented addresses of one network earn an inviter a few bonuses a day, and get few credits", async () => {
  let nowMs = Date.UTC(2030, 0, 2);
  const { gateway, registration, code, balance } = await scene(() => nowMs);
  await using _gateway = gateway;
  for (let at = 0; at < 70; at++) {
    nowMs += 60_000;
    const email = `invented${at}@example.com`;
    await registration.register({ email, inviteCode: code, network: "192.0.2.0/24" });
  }
  // the thief's own 10, and 10 times 50; 10 times 10 for the others
  assertEquals(await balance("thief@example.com"), 510);
  assertEquals(await given(gateway), 510 + 100);
  // another network, or another day, does not help while nobody pays
  nowMs += 25 * HOUR_MS;
  await registration.register({
    email: "x@example.com",
    inviteCode: code,
    network: "2001:db8::/64",
  });
  assertEquals([await balance("thief@example.com"), await balance("x@example.com")], [510, 10]);
  await assertLedgerClean(gateway);
});

Deno.test("chains of inviters of one network are bounded as well", async () => {
  let nowMs = Date.UTC(2030, 0, 2);
  const { gateway, registration, code } = await scene(() => nowMs);
  await using _gateway = gateway;
  const { accounts } = gateway.gateway;
  let inviteCode = code;
  for (let at = 0; at < 40; at++) {
    nowMs += 60_000;
    const email = `chain${at}@example.com`;
    const made = await registration.register({ email, inviteCode, network: "192.0.2.0/24" });
    inviteCode = await accounts.inviteCode(made);
  }
  assert(await given(gateway) <= 10 + 10 * 60, `${await given(gateway)}`);
  await assertLedgerClean(gateway);
});

Deno.test("accounts that an operator creates are not bounded", async () => {
  const { gateway, registration, code, balance } = await scene(() => Date.UTC(2030, 0, 2));
  await using _gateway = gateway;
  for (let at = 0; at < 30; at++) {
    await registration.register({ email: `team${at}@example.com`, inviteCode: code });
  }
  assertEquals(await balance("team29@example.com"), 10);
  assertEquals(await balance("thief@example.com"), 10 + 30 * 50);
});
