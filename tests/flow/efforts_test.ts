/** Efforts through the whole gateway: what is sent, what the client is told, what is recorded. */

import { Catalog } from "../../src/settings/catalog/mod.ts";
import { settings } from "../../src/settings/config/schema.ts";
import { EFFORTS } from "../../src/wire/dialects/mod.ts";
import { knownModels } from "../../src/settings/known_models/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { completion, fakeUpstream } from "../fake/upstream.ts";

Deno.test("an effort that was changed is named to the client and in the record, and browsers may read it", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url },
      routes: { five: { reasoning: "effort" }, six: { reasoning: "effort", efforts: ["xhigh"] } },
      aliases: { "claude-*": "svc-k3" },
    },
  });
  const messages = [{ role: "user", content: "Hi" }];
  const ask = async (path: string, body: Record<string, unknown>) => {
    const reply = await gateway.post(path, { messages, ...body }, {
      headers: { origin: "https://page.example" },
    });
    const text = await reply.text();
    assertEquals(reply.status, 200, text);
    assertStringIncludes(
      reply.headers.get("access-control-expose-headers")!,
      "X-Sluice-Adjusted",
    );
    return [
      upstream.received.at(-1)!.body.reasoning_effort,
      reply.headers.get("x-sluice-adjusted"),
    ];
  };
  const chat = "/v1/chat/completions";
  assertEquals(await ask(chat, { model: "svc-k3", reasoning_effort: "medium" }), [
    "high",
    "reasoning_effort=high",
  ]);
  assertEquals(await ask(chat, { model: "svc-k3" }), ["max", null]);
  assertEquals(await ask(chat, { model: "five" }), [undefined, null]);
  assertEquals(await ask(chat, { model: "five", reasoning: { effort: "minimal" } }), [
    "low",
    "reasoning_effort=low",
  ]);
  assertEquals(await ask(chat, { model: "five", thinking: { type: "disabled" } }), [
    "low",
    "reasoning_effort=low",
  ]);
  assertEquals(await ask(chat, { model: "six", reasoning_effort: "low", stream: false }), [
    "xhigh",
    "reasoning_effort=xhigh",
  ]);
  const thinking = { type: "enabled", budget_tokens: 5_000 };
  assertEquals(await ask("/v1/messages", { model: "claude-x", max_tokens: 9, thinking }), [
    "high",
    "reasoning_effort=high",
  ]);
  const records = await usageRecords(gateway);
  assertEquals(records.map(({ ignored }) => ignored).filter((one) => one !== "").length, 5);
  assertStringIncludes(String(records.at(-1)!.ignored), "reasoning_effort=high");
});

Deno.test("svc-k3 still refuses thinking on chat, under every name; other routes with efforts do not", async () => {
  await using gateway = await startGateway({
    settings: {
      routes: { five: { reasoning: "effort", targets: [{ upstream: "simulator", model: "m" }] } },
    },
  });
  const status = async (model: string) => {
    const reply = await gateway.chat("Hi", { model, thinking: { type: "enabled" } });
    await reply.body?.cancel();
    return reply.status;
  };
  assertEquals(
    [await status("svc-k3"), await status("claude-svc-k3"), await status("five")],
    [400, 400, 200],
  );
});

Deno.test("efforts of a route without efforts are a fault of the settings", async () => {
  const started = startGateway({ settings: { routes: { house: { efforts: ["low"] } } } });
  const error = await started.then(() => undefined, (error) => error);
  assert(error instanceof Error);
  assertStringIncludes(error.message, "routes.house.efforts");
});

Deno.test("listed models have the efforts that are known of them, and are asked for no other", () => {
  const url = "https://api.openai.com/v1";
  const parsed = settings.parse({ upstream: { url } });
  const models = knownModels().filter(({ provider }) => provider === "openai");
  const listed = new Map([["default", models.map(({ id }) => ({ id }))]]);
  const { routes } = new Catalog(parsed, listed);
  const efforts = routes.filter(({ reasoning }) => reasoning === "effort");
  assert(efforts.length > 5);
  for (const route of efforts) {
    const known = models.find(({ id }) => id === route.id)!;
    assertEquals<unknown>(route.efforts, EFFORTS.filter((one) => known.efforts.includes(one)));
    assertEquals([route.defaultEffort, route.rejectsThinking], [undefined, undefined]);
  }
  for (const { reasoning, efforts } of routes) {
    assertEquals(reasoning === "effort", efforts.length > 0);
  }
});
