/** Targets that cannot serve a request are not attempted; what a client is told comes from those that replied. */

import { assertEquals, assertStringIncludes } from "../assert.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { completion, fakeUpstream } from "../fake/upstream.ts";

const message = (text: string): Response =>
  Response.json({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 7, output_tokens: 3 },
  });

/** A messages upstream first, then a chat upstream. */
function messagesThenChat(a: string, b?: string) {
  const targets = [{ upstream: "a", model: "m" }, { upstream: "b", model: "m" }];
  return {
    upstreams: {
      a: { url: a, dialect: "messages" as const },
      ...(b === undefined ? {} : { b: { url: b } }),
    },
    routes: { "svc-k2": { targets: b === undefined ? targets.slice(0, 1) : targets } },
  };
}

const sound = { data: "AAAA", format: "wav" };
const ONLY_CHAT: Readonly<Record<string, Record<string, unknown>>> = {
  "input_audio": {
    messages: [{ role: "user", content: [{ type: "input_audio", input_audio: sound }] }],
  },
  "functions": { functions: [{ name: "f", parameters: { type: "object" } }] },
};

for (const [name, body] of Object.entries(ONLY_CHAT)) {
  Deno.test(`${name}: the target that cannot say it is skipped, and is no attempt`, async () => {
    await using a = fakeUpstream(() => message("from a"));
    await using b = fakeUpstream(() => completion("from b"));
    await using gateway = await startGateway({ settings: messagesThenChat(a.url, b.url) });
    const reply = await gateway.chat("Hi", body);
    assertEquals(reply.headers.get("x-sluice-upstream"), "b");
    assertEquals((await reply.json()).choices[0].message.content, "from b");
    assertEquals([a.received.length, b.received.length], [0, 1]);
    const [record] = await usageRecords(gateway);
    assertEquals([record!.attempts, record!.upstream, record!.ending], [1, "b", "complete"]);
    assertEquals(gateway.log().includes("upstream attempt failed"), false);
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    assertEquals(/upstream_attempts_total\{upstream="a"/.test(metrics), false);
  });

  Deno.test(`${name}: no target can say it: 400 before windows, holds and attempts`, async () => {
    await using a = fakeUpstream(() => message("from a"));
    await using gateway = await startGateway({ settings: messagesThenChat(a.url) });
    const reply = await gateway.chat("Hi", body);
    assertEquals(reply.status, 400);
    assertStringIncludes((await reply.json()).error.message, "this model's upstream");
    assertEquals(a.received.length, 0);
    assertEquals(await usageRecords(gateway), []);
    const { database } = gateway.gateway;
    assertEquals(await database.all("select * from holds"), []);
    assertEquals(await database.all("select * from windows"), []);
    assertEquals(await database.all("select * from account_windows"), []);
  });
}

Deno.test("what was dropped is told by every target that replied, and by no other", async () => {
  let calls = 0;
  await using a = fakeUpstream(() =>
    ++calls === 1 ? message("from a") : new Response("busy", { status: 500 })
  );
  await using b = fakeUpstream(() => completion("from b"));
  await using gateway = await startGateway({ settings: messagesThenChat(a.url, b.url) });
  const two = await gateway.chat("Hi", { n: 2, seed: 7 });
  const { choices } = await two.json();
  // deno-lint-ignore no-explicit-any -- a reply as it came
  assertEquals(choices.map((one: any) => one.message.content), ["from a", "from b"]);
  assertEquals(two.headers.get("x-sluice-ignored"), "seed");

  const one = await gateway.chat("Hi", { seed: 7 }); // a fails, b is sent the seed
  await one.body?.cancel();
  assertEquals(one.headers.get("x-sluice-upstream"), "b");
  assertEquals(one.headers.get("x-sluice-ignored"), null);
  assertEquals((await usageRecords(gateway)).map(({ ignored }) => ignored), ["seed", ""]);
});
