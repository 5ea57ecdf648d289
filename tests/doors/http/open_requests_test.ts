import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { customer } from "../../fake/customer.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { until } from "../../fake/temp.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

Deno.test("requests in progress are bounded for the gateway, an account and a key; places come back", async () => {
  const gate = Promise.withResolvers<void>();
  await using upstream = fakeUpstream(async () => {
    await gate.promise;
    return completion("ok");
  });
  await using gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url },
      limits: { openRequests: 6, accountShare: 0.5, openRequestsPerKey: 2, drainMs: 5_000 },
    },
  });
  const ada = await customer(gateway, 1_000, { keys: 2 });
  const [bob, cy] = [await customer(gateway, 1_000, { keys: 2 }), await customer(gateway, 1_000)];
  const chat = (key: string) => gateway.chat("Hi", {}, { key });
  const refusal = async (key: string) => {
    const reply = await chat(key);
    assertEquals(reply.status, 503);
    assert(Number(reply.headers.get("retry-after")) >= 1);
    return (await reply.json()).error.message;
  };
  const running = [chat(ada.keys[0]!), chat(ada.keys[0]!)];
  await until(() => gateway.gateway.inFlight.count === 2);
  assertStringIncludes(await refusal(ada.keys[0]!), "for this API key");
  running.push(chat(ada.keys[1]!));
  await until(() => gateway.gateway.inFlight.count === 3);
  assertStringIncludes(await refusal(ada.keys[1]!), "for this account");
  running.push(chat(bob.keys[0]!), chat(bob.keys[0]!), chat(bob.keys[1]!));
  await until(() => gateway.gateway.inFlight.count === 6);
  assertEquals(await refusal(cy.keys[0]!), "Too many requests in progress. Please try again.");
  gate.resolve();
  assertEquals(await Promise.all(running.map(statusOf)), Array(6).fill(200));
  for (const key of [...ada.keys, ...bob.keys, ...cy.keys]) {
    assertEquals(await statusOf(chat(key)), 200);
  }
});
