/** Credits that are lent to a gateway which was killed: they are there, and nobody can have them until its lease ends. */

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
      values (?, 'gw_dead', 'loan_dead', 98, 1, 1, 1, unixepoch('subsec') * 1000 + 20000)`,
    args: [accountId],
  }]);
  const ask = (content: string) =>
    gateway.chat(content, { model: "token", max_tokens: 5, n: 5 }, { key: key! });
  const beganTick = performance.now();
  const refused = await ask("Hi");
  const waitedMs = performance.now() - beganTick;
  assertEquals(refused.status, 503);
  const retryAfterS = Number(refused.headers.get("retry-after"));
  assert(retryAfterS >= 1 && retryAfterS <= 20, `${retryAfterS} s`);
  assertStringIncludes((await refused.json()).error.message, "lent to a gateway");
  assert(waitedMs < 8_000, `${waitedMs} ms`);
  // what is not lent can be spent
  const small = await gateway.chat("Hi", { model: "token", max_tokens: 1 }, { key: key! });
  assertEquals(small.status, 200);
  await small.text();
  await database.batch([{ sql: "delete from loans where gateway_id = 'gw_dead'" }]);
  const served = await ask("Hi");
  assertEquals(served.status, 200);
  await served.text();
  await assertLedgerClean(gateway);
});
