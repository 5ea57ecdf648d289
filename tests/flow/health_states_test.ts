/** How upstreams have been doing, as operators see it: unknown until something came of a request. */

import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { startGateway, statusOf } from "../fake/gateway.ts";
import { completion, fakeUpstream } from "../fake/upstream.ts";
import { signedIn } from "../fake/visitor.ts";

Deno.test("an upstream is not shown as usable before it has replied", async () => {
  let status = 500;
  await using upstream = fakeUpstream(() =>
    status === 200 ? completion("well") : Response.json({ error: "no" }, { status })
  );
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        used: { url: upstream.url },
        unused: { url: "http://127.0.0.1:1/v1" },
        pool: { url: upstream.url, keys: ["key-number-one", "key-number-two"] },
      },
      routes: {
        "svc-k2": { targets: [{ upstream: "used", model: "m" }] },
        "svc-k3": { targets: [{ upstream: "pool", model: "m" }] },
      },
    },
  });
  const browser = await signedIn(gateway, gateway.gateway.owner.email);
  const states = async () => {
    const page = await (await browser.get("/console/operator/upstreams")).text();
    const rows = page.split("<tr").slice(2);
    return rows.map((row) => row.replace(/<[^>]*>/g, " ").replace(/\s+/g, " "));
  };
  const [used, unused] = await states();
  assertStringIncludes(used!, "not used yet");
  assertStringIncludes(unused!, "not used yet");
  assertEquals(await statusOf(fetch(`${gateway.url}/readyz`)), 200, "that is no reason to wait");

  assertEquals(await statusOf(gateway.chat("Hi")), 503);
  assertStringIncludes((await states())[0]!, "last request failed");
  status = 400; // it rejects the request, and works
  assertEquals(await statusOf(gateway.chat("Hi")), 400);
  assertStringIncludes((await states())[0]!, " ok ");
  status = 200;
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
  const [good, idle, pool] = await states();
  assertStringIncludes(good!, " ok ");
  assertStringIncludes(idle!, "not used yet");
  assertStringIncludes(pool!, "2 of 2 usable");

  status = 401;
  assertEquals(await statusOf(gateway.chat("Hi", { model: "svc-k3" })), 503);
  const resting = (await states())[2]!;
  assertStringIncludes(resting, "0 of 2 usable, keys 1, 2 in cooldown");
  assertStringIncludes(resting, "cooling down");
  assert(!resting.includes("key-number"));
});
