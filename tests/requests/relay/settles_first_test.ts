/** The charge is committed before the caller has the end of its response. */

import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { assertLedgerClean, customer } from "../../fake/customer.ts";
import { startGateway, type TestGateway, usageRecords } from "../../fake/gateway.ts";
import { inTime, sleep, until } from "../../fake/temp.ts";
import {
  chunk,
  completion,
  eventStream,
  fakeUpstream,
  pacedStream,
  sse,
} from "../../fake/upstream.ts";

/** Keeps settlements from the database until they are let go. */
function heldUp({ gateway: { database } }: TestGateway) {
  const write = database.write.bind(database);
  const open = Promise.withResolvers<void>();
  const held = { waiting: 0, letGo: () => open.resolve() };
  database.write = async (wanted, item) => {
    if (wanted.name === "settlement") {
      held.waiting++;
      await open.promise;
    }
    return await write(wanted, item);
  };
  return held;
}

/** A credit for each output token. */
const ROUTES = {
  "token": {
    context: 100_000,
    maxOutput: 50_000,
    minimum: 1,
    prices: { input: 0, cached: 0, output: 1_000_000 },
  },
};

const LAST = { "/v1/chat/completions": "[DONE]", "/v1/messages": "message_stop" } as const;

for (const [path, last] of Object.entries(LAST)) {
  for (const [how, maxTokens, events] of [["complete", 1_000, 3], ["cut off", 20, 100]] as const) {
    // Proves P5.
    Deno.test(`${path}: the last event of a ${how} stream comes after its charge`, async () => {
      const pieces = Array.from({ length: events }, () => chunk({ content: "word ".repeat(100) }));
      await using upstream = fakeUpstream(() =>
        eventStream(sse(chunk({ role: "assistant" }), ...pieces, chunk({}, "stop"), "[DONE]"))
      );
      await using gateway = await startGateway({
        settings: { upstream: { url: upstream.url }, routes: ROUTES },
      });
      const { keys: [key] } = await customer(gateway, 500);
      const held = heldUp(gateway);
      const body = {
        model: "token",
        stream: true,
        max_tokens: maxTokens, // an upstream that goes far beyond is cut off
        messages: [{ role: "user", content: "Hi" }],
      };
      const reply = await gateway.post(path, body, { key: key! });
      let text = "";
      const reading = (async () => {
        for await (const bytes of reply.body!) text += new TextDecoder().decode(bytes);
      })();
      await until(() => held.waiting === 1, { what: "the settlement" });
      await sleep(100);
      assert(!text.includes(last), text.slice(-300));
      assertEquals((await usageRecords(gateway)).length, 0);
      held.letGo();
      await reading;
      assertStringIncludes(text, last);
      assertEquals((await usageRecords(gateway)).length, 1);
      await assertLedgerClean(gateway);
    });
  }
}

Deno.test("a response that is not streamed comes after its charge", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const held = heldUp(gateway);
  const reply = gateway.chat("Hi");
  await until(() => held.waiting === 1, { what: "the settlement" });
  assertEquals(await inTime(reply.then(({ status }) => status), 100, "waits"), "waits");
  held.letGo();
  assertEquals(Object.keys(await (await reply).json()).includes("choices"), true);
  assertEquals((await usageRecords(gateway)).length, 1);
});

Deno.test("a stream whose caller leaves while it is settled ends in one way", async () => {
  await using upstream = fakeUpstream(() =>
    eventStream(
      sse(chunk({ role: "assistant", content: "word " })),
      sse(chunk({}, "stop"), "[DONE]"),
    )
  );
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const held = heldUp(gateway);
  const reply = await gateway.chat("Hi", { stream: true });
  const reader = reply.body!.getReader();
  await reader.read();
  const rest = reader.read();
  await until(() => held.waiting === 1, { what: "the settlement" });
  await reader.cancel();
  await rest;
  await sleep(200);
  held.letGo();
  await until(() => gateway.gateway.inFlight.count === 0);
  await sleep(50);
  assertEquals((await usageRecords(gateway)).map(({ ending }) => ending), ["complete"]);
  const lines = gateway.log().split("\n").filter((line) => line.includes('"message":"request"'));
  assertEquals([held.waiting, lines.length], [1, 1]);
  await assertLedgerClean(gateway);
});

for (const path of Object.keys(LAST)) {
  Deno.test(`${path}: a caller who leaves a stream before any output pays nothing`, async () => {
    // the stream has begun, and says nothing: its events or pings are all that is sent
    await using upstream = fakeUpstream(() =>
      pacedStream(50, [
        sse(chunk({ role: "assistant", content: "" })),
        ...Array.from({ length: 200 }, () => sse(chunk({ content: "" }))),
      ])
    );
    await using gateway = await startGateway({
      settings: { upstream: { url: upstream.url }, limits: { pingMs: 100, drainMs: 5_000 } },
    });
    const leave = new AbortController();
    const body = {
      model: "svc-k2",
      stream: true,
      max_tokens: 1_000,
      messages: [{ role: "user", content: "word ".repeat(20_000) }],
    };
    const reply = await gateway.post(path, body, { signal: leave.signal });
    const reader = reply.body!.getReader();
    for (let times = 0; times < 3; times++) assert(!(await reader.read()).done);
    leave.abort();
    await reader.cancel().catch(() => {});
    await until(async () => (await usageRecords(gateway)).length === 1);
    const [record] = await usageRecords(gateway);
    assertEquals(
      [record!.ending, record!.usage_source, record!.input_tokens, record!.charged_credits],
      ["client_left", null, 0, 0],
    );
    await assertLedgerClean(gateway);
  });
}
