/** Credits that are lent to a gateway which was killed: they are there, and nobody can have them until its lease ends. */

import { writeOffLoans } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { assertLedgerClean, customer } from "../../fake/customer.ts";
import { startGateway } from "../../fake/gateway.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

const ROUTES = {
  token: {
    context: 100_000,
    maxOutput: 50_000,
    minimum: 1,
    prices: { input: 0, cached: 0, output: 1_000_000 },
  },
};

Deno.test("credits that a killed gateway was lent: 503 with the time until its lease ends, not 403", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: ROUTES },
  });
  const { keys: [key], accountId } = await customer(gateway, 100);
  const { database } = gateway.gateway;
  await database.batch([{
    sql: `insert into loans
        (account_id, gateway_id, loan_id, credits, minute, hour, day, lease_until_ms)
      values (?, 'gw_dead', 'loan_dead', 98, 1, 1, 1, unixepoch('subsec') * 1000 + 600000)`,
    args: [accountId],
  }]);
  const ask = (content: string) =>
    gateway.chat(content, { model: "token", max_tokens: 5, n: 5 }, { key: key! });
  const refused = await ask("Hi");
  assertEquals(refused.status, 503);
  assert(Number(refused.headers.get("retry-after")) >= 1);
  const { message } = (await refused.json()).error;
  assertStringIncludes(message, "lent to a gateway");
  const leftS = Number(/another (\d+) s/.exec(message)?.[1]);
  assert(leftS >= 1 && leftS <= 600, message);
  // it was not waited for
  const lease = await database.one(
    "select lease_until_ms > unixepoch('subsec') * 1000 as lasts from loans where gateway_id = 'gw_dead'",
  );
  assertEquals(lease?.lasts, 1);
  // what is not lent can be spent
  const small = await gateway.chat("Hi", { model: "token", max_tokens: 1 }, { key: key! });
  assertEquals(small.status, 200);
  await small.text();
  // nor is it free once the lease has ended: what the gateway sold may be in its data directory
  await database.batch([{ sql: "update loans set lease_until_ms = 1" }]);
  const gone = await ask("Hi");
  assertEquals(gone.status, 503);
  assertStringIncludes((await gone.json()).error.message, "sluice credits write-off");
  assertStringIncludes(gateway.log(), '"request refused"');
  const off = { id: "off", gatewayId: "gw_dead", note: "disk lost", atMs: Date.now() };
  await writeOffLoans(database, off);
  const served = await ask("Hi");
  assertEquals(served.status, 200);
  await served.text();
  await assertLedgerClean(gateway);
});

Deno.test("a budget of which a killed gateway was lent: 503 until its lease ends, then 403 that says what frees it", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: ROUTES },
  });
  const { accounts, database, keys } = gateway.gateway;
  const { accountId } = await customer(gateway, 100);
  const bounded = await keys.issue((await accounts.byId(accountId))!, { budgetCredits: 6 });
  await database.batch([{
    sql: `insert into loans
        (account_id, gateway_id, key_id, loan_id, credits, minute, hour, day, lease_until_ms)
      values (?, 'gw_dead', ?, 'loan_dead', 4, 1, 1, 1, unixepoch('subsec') * 1000 + 600000)`,
    args: [accountId, bounded.id],
  }]);
  const ask = async () => {
    const body = { model: "token", max_tokens: 5, n: 5 };
    const reply = await gateway.chat("Hi", body, { key: bounded.secret });
    return [reply.status, await reply.text()] as const;
  };
  const [early, waits] = await ask();
  assertEquals(early, 503);
  assertStringIncludes(waits, "Part of a budget is lent to a gateway that does not answer");
  await database.batch([{ sql: "update loans set lease_until_ms = 1" }]);
  const [late, says] = await ask();
  assertEquals(late, 403);
  assertStringIncludes(says, "0 of 6 credits are spent, and 4 are held");
  assertStringIncludes(says, "sluice credits write-off");
  assertStringIncludes(gateway.log(), '"request refused"');
  const off = { id: "off", gatewayId: "gw_dead", note: "disk lost", atMs: Date.now() };
  await writeOffLoans(database, off);
  assertEquals((await ask())[0], 200);
  await assertLedgerClean(gateway);
});
