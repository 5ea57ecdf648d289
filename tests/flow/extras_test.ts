/** What costs more than its tokens, through the gateway: to the credit, and the audit explains it. */

import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { assertEquals, assertStringIncludes } from "../assert.ts";
import { assertLedgerClean, customer } from "../fake/customer.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { until } from "../fake/temp.ts";
import { completion, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";

type Routes = NonNullable<SettingsInput["routes"]>;

/** A credit for each output token, two for ten of input. */
const PRICED = {
  context: 100_000,
  maxOutput: 1_000,
  minimum: 1,
  prices: { input: 200_000, cached: 100_000, output: 1_000_000 },
};

const route = (allow: NonNullable<Routes[string]>["allow"]) => ({ token: { ...PRICED, allow } });

Deno.test("a service tier costs its factor; one that is not allowed is left out and named", async () => {
  const usage = { prompt_tokens: 10, completion_tokens: 30, total_tokens: 40 };
  await using upstream = fakeUpstream(() => completion("well", { usage }));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: route({ tiers: { priority: 2.5 } }) },
  });
  const { keys: [key] } = await customer(gateway, 1_000);
  const post = (tier: string) =>
    gateway.chat("Hi", { model: "token", max_tokens: 50, service_tier: tier }, { key: key! });
  const allowed = await post("priority");
  await allowed.text();
  const other = await post("flex");
  await other.text();
  assertEquals(upstream.received.map(({ body }) => body.service_tier), ["priority", undefined]);
  assertEquals(
    [allowed, other].map(({ headers }) => headers.get("x-sluice-ignored")),
    [null, "service_tier"],
  );
  // 10 × 0.5 + 30 × 2.5, and 10 × 0.2 + 30
  assertEquals((await usageRecords(gateway)).map(({ charged_credits }) => charged_credits), [
    80,
    32,
  ]);
  await assertLedgerClean(gateway);
});

/** A request as services read it that ignore the case of names, as those in Go do: of several the last one holds. */
function readWithoutCase(raw: string): Record<string, unknown> {
  return JSON.parse(
    raw,
    (_name, value) =>
      typeof value !== "object" || value === null || Array.isArray(value)
        ? value
        : Object.fromEntries(Object.entries(value).map(([name, one]) => [name.toLowerCase(), one])),
  );
}

Deno.test("a service that ignores the case of names gets nothing that was not paid for", async () => {
  await using upstream = fakeUpstream(() => completion("well"));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: route({}) },
  });
  const { keys: [key] } = await customer(gateway, 1_000);
  const wanted = { Model: "dear", N: 8, Service_Tier: "priority", MAX_TOKENS: 100_000 };
  const reply = await gateway.chat("Hi", { model: "token", max_tokens: 50, ...wanted }, {
    key: key!,
  });
  await reply.text();
  assertEquals(reply.headers.get("x-sluice-ignored"), "Model, N, Service_Tier, MAX_TOKENS");
  const { model, n, service_tier, max_tokens } = readWithoutCase(upstream.received[0]!.raw);
  assertEquals([model, n, service_tier, max_tokens], ["token", undefined, undefined, 50]);
});

Deno.test("limits of calls that an upstream does not know reserve no less, so that no more is spent than there is", async () => {
  const calls = Array.from({ length: 10 }, (_, at) => ({
    type: "server_tool_use",
    id: `srvtoolu_${at}`,
    name: "web_search",
    input: {},
  }));
  const { promise: replied, resolve } = Promise.withResolvers<void>();
  await using upstream = fakeUpstream(async () => {
    await replied;
    return Response.json({
      id: "m",
      type: "message",
      role: "assistant",
      model: "m",
      content: [...calls, { type: "text", text: "well" }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 15_000, output_tokens: 5 },
    });
  });
  await using gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url, dialect: "messages" },
      routes: {
        token: { ...PRICED, context: 2_000, maxOutput: 100, allow: { tools: { web_search: 50 } } },
      },
    },
  });
  const { keys: [key], balance } = await customer(gateway, 9_000);
  let refused = 0;
  const sent = Array.from({ length: 10 }, async () => {
    const reply = await gateway.post("/v1/messages", {
      model: "token",
      max_tokens: 5,
      max_tool_calls: 1,
      messages: [{ role: "user", content: "Hi" }],
      tools: [{ type: "web_search_20250305", name: "web_search" }],
    }, { key: key! });
    await reply.text();
    if (reply.status !== 200) refused++;
  });
  await until(() => upstream.received.length + refused === 10, { what: "all requests" });
  resolve();
  await Promise.all(sent);
  // 15,000 × 0.2 + 5, and ten calls; what the others would have cost could not have been held
  assertEquals([refused, await balance()], [9, 9_000 - 3_505]);
  await assertLedgerClean(gateway);
});

for (const stream of [false, true]) {
  Deno.test(`what is written to a cache costs its factor (stream: ${stream})`, async () => {
    const usage = {
      input_tokens: 10,
      cache_creation_input_tokens: 500,
      cache_read_input_tokens: 100,
      output_tokens: 5,
    };
    const message = {
      id: "m",
      type: "message",
      role: "assistant",
      model: "m",
      content: [{ type: "text", text: "well" }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage,
    };
    await using upstream = fakeUpstream(() =>
      stream
        ? eventStream(sse(
          ...[
            { type: "message_start", message: { ...message, content: [], stop_reason: null } },
            {
              type: "content_block_start",
              index: 0,
              content_block: { type: "text", text: "well" },
            },
            { type: "content_block_stop", index: 0 },
            { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
            { type: "message_stop" },
          ].map((event) => JSON.stringify(event)),
        ))
        : Response.json(message)
    );
    await using gateway = await startGateway({
      settings: {
        upstream: { url: upstream.url, dialect: "messages", quirks: "anthropic" },
        routes: route({ cache: { "5m": 1.25, "1h": 2 } }),
      },
    });
    const { keys: [key] } = await customer(gateway, 10_000);
    for (const ttl of [undefined, "1h", "24h"]) {
      const reply = await gateway.post("/v1/messages", {
        model: "token",
        max_tokens: 50,
        stream,
        system: [{
          type: "text",
          text: "word ".repeat(600),
          cache_control: { type: "ephemeral", ...(ttl && { ttl }) },
        }],
        messages: [{ role: "user", content: "Hi" }],
      }, { key: key! });
      await reply.text();
      assertEquals(
        reply.headers.get("x-sluice-ignored"),
        ttl === "24h" ? "cache_control.ttl" : null,
      );
    }
    // marks of the gateway's own
    const system = { role: "system", content: "word ".repeat(600) };
    const keyed = await gateway.post("/v1/chat/completions", {
      model: "token",
      max_tokens: 50,
      stream,
      prompt_cache_key: "k",
      messages: [system, { role: "user", content: "Hi" }],
    }, { key: key! });
    await keyed.text();
    const { body } = upstream.received.at(-1)!;
    assertEquals(body.system.at(-1).cache_control, { type: "ephemeral" });
    // 510 × 0.2 + 100 × 0.1 + 5 = 117, and for the 500 tokens written a quarter, or as much, more; a lifetime that is left out
    // leaves the usual one
    const records = await usageRecords(gateway);
    assertEquals(records.map(({ charged_credits: charged }) => charged), [142, 217, 142, 142]);
    assertEquals(records.map(({ extra_credits: extra }) => extra), [25, 100, 25, 25]);
    await assertLedgerClean(gateway);
  });

  Deno.test(`a tool that runs at the upstream costs its price a call (stream: ${stream})`, async () => {
    const output = [
      { type: "web_search_call", id: "ws_1", status: "completed" },
      { type: "web_search_call", id: "ws_2", status: "completed" },
      {
        type: "message",
        id: "msg_1",
        status: "completed",
        role: "assistant",
        content: [{ type: "output_text", text: "well", annotations: [] }],
      },
    ];
    const usage = { input_tokens: 3_000, output_tokens: 20, total_tokens: 3_020 };
    const response = {
      id: "r",
      object: "response",
      status: "completed",
      model: "m",
      output,
      usage,
    };
    await using upstream = fakeUpstream(() =>
      stream
        ? eventStream(sse(
          ...[
            {
              type: "response.created",
              response: { ...response, status: "in_progress", output: [] },
            },
            ...output.flatMap((item, at) => [
              { type: "response.output_item.added", output_index: at, item },
              { type: "response.output_item.done", output_index: at, item },
            ]),
            { type: "response.completed", response },
          ].map((event) => JSON.stringify(event)),
        ))
        : Response.json(response)
    );
    await using gateway = await startGateway({
      settings: {
        upstream: { url: upstream.url, dialect: "responses" },
        routes: route({ tools: { web_search: 10 } }),
      },
    });
    const { keys: [key] } = await customer(gateway, 10_000);
    const post = (type: string) =>
      gateway.post("/v1/responses", {
        model: "token",
        input: "Hi",
        max_output_tokens: 50,
        stream,
        tools: [{ type }],
      }, { key: key! });
    await (await post("web_search_preview")).text();
    // what it found is input that nobody could count: 3,000 × 0.2 + 20, and two calls
    const [record] = await usageRecords(gateway);
    assertEquals([record!.charged_credits, record!.extra_credits], [640, 20]);
    const refused = await post("image_generation");
    assertEquals(refused.status, 400);
    assertStringIncludes((await refused.json()).error.message, "image_generation");
    assertEquals(upstream.received.length, 1);
    await assertLedgerClean(gateway);
  });
}
