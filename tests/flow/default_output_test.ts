/** The output limit of chat requests that set none. */

import { BUILTIN_ROUTES } from "../../src/settings/catalog/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { completion, fakeUpstream } from "../fake/upstream.ts";

const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];

/** What each route sends as the limit. */
async function limits(settings: Record<string, unknown> = {}) {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url },
      routes: { house: { maxOutput: 5_000, context: 9_000 }, "svc-k2.5": { maxOutput: 500 } },
      ...settings,
    },
  });
  const send = async (model: string, body: Record<string, unknown>) => {
    const reply = await gateway.chat("Hi", { model, ...body });
    await reply.body?.cancel();
    assertEquals(reply.status, 200);
    return upstream.received.at(-1)!.body.max_tokens as number;
  };
  const sent: Record<string, number[]> = {};
  for (const model of [...Object.keys(BUILTIN_ROUTES), "house"]) {
    sent[model] = [
      await send(model, {}),
      await send(model, { tools: [], max_tokens: null }),
      await send(model, { tools }),
      await send(model, { tools, max_tokens: 7 }),
    ];
  }
  assertEquals(await send("svc-k3", { functions: [{ name: "f" }] }), 128_000);
  return sent;
}

Deno.test("no limit in the request: 1,024 for plain ones on built-in routes, else the route's maximum", async () => {
  assertEquals(await limits(), {
    "svc-k2": [1_024, 1_024, 8_192, 7],
    "svc-k2-0905": [1_024, 1_024, 128_000, 7],
    "svc-k2.5": [500, 500, 500, 7],
    "svc-k2.6": [1_024, 1_024, 128_000, 7],
    "svc-k2.7-code": [1_024, 1_024, 128_000, 7],
    "svc-k3": [1_024, 1_024, 128_000, 7],
    house: [5_000, 5_000, 5_000, 7],
  });
});

Deno.test("defaultMaxOutput replaces 1,024, and only that", async () => {
  const sent = await limits({ defaultMaxOutput: 20_000 });
  assertEquals(sent["svc-k2"], [8_192, 8_192, 8_192, 7]);
  assertEquals(sent["svc-k3"], [20_000, 20_000, 128_000, 7]);
  assertEquals(sent.house, [5_000, 5_000, 5_000, 7]);
});

Deno.test("log probabilities: no more output than they can be passed on for", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const asked: [Record<string, unknown>, number][] = [
    [{ logprobs: true, top_logprobs: 20 }, 7_936], // 2,000,000 values, 21 of 12 each for a token
    [{ logprobs: true, top_logprobs: 20, max_tokens: 50 }, 50],
    [{ logprobs: true }, 128_000],
  ];
  for (const [body, limit] of asked) {
    const reply = await gateway.chat("Hi", { model: "svc-k3", tools, ...body });
    await reply.body?.cancel();
    assertEquals([reply.status, upstream.received.at(-1)!.body.max_tokens], [200, limit]);
  }
});

Deno.test("a small balance still serves: the limit is lowered to what it pays for", async () => {
  await using upstream = fakeUpstream(({ body }) =>
    body.stream
      ? new Response(
        'data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\n' +
          "data: [DONE]\n\n",
        { headers: { "content-type": "text/event-stream" } },
      )
      : completion("ok")
  );
  await using gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url },
      credits: { ownerGrant: 10 },
      routes: { house: { prices: { input: 500, cached: 50, output: 2_500 } } },
    },
  });
  for (const stream of [false, true]) {
    for (const body of [{ model: "svc-k3", tools }, { model: "house" }]) {
      const reply = await gateway.chat("Hi", { ...body, stream });
      assertEquals(reply.status, 200, await reply.text());
      const { max_tokens: limit } = upstream.received.at(-1)!.body;
      assert(limit > 0 && limit <= 4_000, `${limit} tokens cost more than the balance`);
    }
  }
  const records = await usageRecords(gateway);
  assertEquals(records.map(({ ending }) => ending), Array(4).fill("complete"));
});
