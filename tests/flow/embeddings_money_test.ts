/** What embeddings cost, and that nobody spends more than there is. */

import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { assertLedgerClean, customer } from "../fake/customer.ts";
import { embeddingsReply, embeddingsSettings } from "../fake/embeddings.ts";
import { startGateway, statusOf, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { sleep, until } from "../fake/temp.ts";
import { fakeUpstream } from "../fake/upstream.ts";

const PATH = "/v1/embeddings";
/** Tokens that the gateway and the upstream count in the same way. */
const TOKENS = (count: number) => new Array(count).fill(7);

const embed = (gateway: TestGateway, body: Record<string, unknown>, key?: string) =>
  gateway.post(PATH, { model: "e", ...body }, key === undefined ? {} : { key });

for (
  const { why, price, minimum, tokens, charge } of [
    { why: "the price of the input, rounded up", price: 1_500, minimum: 1, tokens: 900, charge: 2 },
    { why: "a price that needs no rounding", price: 10_000, minimum: 1, tokens: 900, charge: 9 },
    { why: "the minimum", price: 20, minimum: 3, tokens: 900, charge: 3 },
    { why: "nothing where all is free", price: 0, minimum: 0, tokens: 900, charge: 0 },
    { why: "the minimum for an explicit zero", price: 1_000_000, minimum: 1, tokens: 0, charge: 1 },
  ]
) {
  Deno.test(`charged: ${why}`, async () => {
    await using upstream = fakeUpstream((request) => embeddingsReply(request, { tokens }));
    await using gateway = await startGateway({
      settings: embeddingsSettings(upstream.url, { minimum, prices: { input: price } }),
    });
    const { keys: [key], balance } = await customer(gateway, 10_000);
    const reply = await embed(gateway, { input: TOKENS(900) }, key);
    assertEquals((await reply.json()).usage.prompt_tokens, tokens);
    assertEquals(reply.headers.get("x-sluice-credits"), String(charge));
    assertEquals(reply.headers.get("x-credits-remaining"), String(10_000 - charge));
    assertEquals(await balance(), 10_000 - charge);
    const [record] = await usageRecords(gateway);
    assertEquals([record!.usage_source, record!.input_tokens], ["upstream", tokens]);
    await assertLedgerClean(gateway);
  });
}

Deno.test("charged: the prices of the time, and the factor of a service tier", async () => {
  await using upstream = fakeUpstream((request) => embeddingsReply(request, { tokens: 900 }));
  await using gateway = await startGateway({
    settings: embeddingsSettings(upstream.url, {
      prices: { input: 10_000, changes: [{ from: "2020-01-01", input: 50_000, output: 0 }] },
      allow: { tiers: { priority: 3 } },
    }),
  });
  const { keys: [key] } = await customer(gateway, 10_000);
  for (const more of [{}, { service_tier: "priority" }]) {
    await (await embed(gateway, { input: TOKENS(900), ...more }, key)).text();
  }
  assertEquals(upstream.received.map(({ body }) => body.service_tier), [undefined, "priority"]);
  assertEquals((await usageRecords(gateway)).map((one) => one.charged_credits), [45, 135]);
  await assertLedgerClean(gateway);
});

for (const [why, tokens] of [["no report", undefined], ["one beyond belief", 9e9]] as const) {
  Deno.test(`charged: counted by the gateway where there is ${why}`, async () => {
    await using upstream = fakeUpstream((request) =>
      embeddingsReply(request, tokens === undefined ? { more: { usage: null } } : { tokens })
    );
    await using gateway = await startGateway({ settings: embeddingsSettings(upstream.url) });
    const reply = await embed(gateway, { input: [TOKENS(5), TOKENS(8)] });
    assertEquals((await reply.json()).usage, { prompt_tokens: 13, total_tokens: 13 });
    const [record] = await usageRecords(gateway);
    assertEquals([record!.usage_source, record!.charged_credits], ["counted", 13]);
  });
}

Deno.test("charged: a report that counts the marks of each short input is believed", async () => {
  await using upstream = fakeUpstream((request) => embeddingsReply(request, { tokens: 95 }));
  await using gateway = await startGateway({
    settings: embeddingsSettings(upstream.url, { context: 8 }),
  });
  const reply = await embed(gateway, { input: Array.from({ length: 5 }, () => TOKENS(8)) });
  assertEquals((await reply.json()).usage.prompt_tokens, 95);
  const [record] = await usageRecords(gateway);
  assertEquals([record!.usage_source, record!.input_tokens], ["upstream", 95]);
});

for (
  const { why, status, answer } of [
    { why: "a 4xx", status: 400, answer: () => new Response("{}", { status: 400 }) },
    { why: "a 5xx", status: 503, answer: () => new Response("{}", { status: 500 }) },
    { why: "a page", status: 503, answer: () => new Response("<html>") },
    { why: "an empty list", status: 503, answer: () => Response.json({ data: [] }) },
    {
      why: "an error with status 200",
      status: 503,
      answer: () => Response.json({ error: { message: "overloaded" } }),
    },
    {
      why: "a rate limit with status 200",
      status: 429,
      answer: () => Response.json({ error: { message: "slow", code: "429" } }),
    },
  ]
) {
  Deno.test(`charged: nothing for ${why}`, async () => {
    await using upstream = fakeUpstream(answer);
    await using gateway = await startGateway({ settings: embeddingsSettings(upstream.url) });
    const { keys: [key], balance } = await customer(gateway, 100);
    const reply = await embed(gateway, { input: TOKENS(5) }, key);
    assertEquals([reply.status, await balance()], [status, 100]);
    assert(typeof (await reply.json()).error.message === "string");
    await assertLedgerClean(gateway);
  });
}

for (const keys of [1, 2]) {
  Deno.test(`200 requests at once with credits for one, with ${keys} keys: one succeeds`, async () => {
    let refused = 0;
    await using upstream: ReturnType<typeof fakeUpstream> = fakeUpstream(async (request) => {
      // while it waits, credits are held and not spent
      await until(() => upstream.received.length + refused >= 200, { what: "all requests" });
      return embeddingsReply(request, { tokens: 20 });
    });
    await using gateway = await startGateway({ settings: embeddingsSettings(upstream.url) });
    const one = await customer(gateway, 20, { keys });
    const statuses = await Promise.all(
      Array.from(
        { length: 200 },
        async (_, at) => {
          const status = await statusOf(
            embed(gateway, { input: TOKENS(20) }, one.keys[at % keys]!),
          );
          if (status !== 200) refused++;
          return status;
        },
      ),
    );
    assertEquals(statuses.filter((status) => status === 200).length, 1);
    assertEquals(statuses.filter((status) => status === 403).length, 199);
    assertEquals([upstream.received.length, await one.balance()], [1, 0]);
    await assertLedgerClean(gateway);
  });
}

Deno.test("the hold is what the input costs: no credit more is needed, and none less is enough", async () => {
  await using upstream = fakeUpstream((request) => embeddingsReply(request, { tokens: 20 }));
  await using gateway = await startGateway({ settings: embeddingsSettings(upstream.url) });
  const exact = await customer(gateway, 20);
  assertEquals(await statusOf(embed(gateway, { input: TOKENS(20) }, exact.keys[0])), 200);
  assertEquals(await exact.balance(), 0);
  const short = await customer(gateway, 19);
  const refused = await embed(gateway, { input: TOKENS(20) }, short.keys[0]);
  assertStringIncludes((await refused.json()).error.message, "costs at least 20 credits");
  assertEquals([refused.status, await short.balance()], [403, 19]);
  assertEquals(upstream.received.length, 1);
});

Deno.test("a key's budget bounds embeddings and conversations together", async () => {
  await using upstream = fakeUpstream((request) => embeddingsReply(request, { tokens: 6 }));
  await using gateway = await startGateway({ settings: embeddingsSettings(upstream.url) });
  const { keys: [key], balance } = await customer(gateway, 100, { budget: 10 });
  const statuses = await Promise.all(
    Array.from({ length: 20 }, () => statusOf(embed(gateway, { input: TOKENS(6) }, key))),
  );
  assertEquals(statuses.filter((status) => status === 200).length, 1);
  assertEquals(await balance(), 94);
  const over = await embed(gateway, { input: TOKENS(6) }, key);
  assertStringIncludes((await over.json()).error.message, "budget of this API key");
  await assertLedgerClean(gateway);
});

Deno.test("an upstream that reports more than was counted raises the account's next holds, and nobody else's", async () => {
  await using upstream = fakeUpstream((request) => embeddingsReply(request, { tokens: 1_200 }));
  await using gateway = await startGateway({ settings: embeddingsSettings(upstream.url) });
  const [one, other] = [await customer(gateway, 2_399), await customer(gateway, 1_199)];
  const status = (key: string | undefined) => statusOf(embed(gateway, { input: TOKENS(600) }, key));
  assertEquals(await status(one.keys[0]), 200);
  assertEquals(await status(one.keys[0]), 403);
  assertEquals(await status(other.keys[0]), 200);
});

Deno.test("a client that disconnects before the reply pays nothing, and the upstream is let go", async () => {
  let isCancelled = false;
  await using upstream = fakeUpstream(async (request, signal) => {
    signal.addEventListener("abort", () => isCancelled = true);
    await until(() => signal.aborted, { what: "the disconnect" });
    return embeddingsReply(request);
  });
  await using gateway = await startGateway({ settings: embeddingsSettings(upstream.url) });
  const leave = new AbortController();
  const sent = gateway.post(PATH, { model: "e", input: "Hi" }, { signal: leave.signal });
  await until(() => upstream.received.length === 1, { what: "the request" });
  leave.abort();
  await sent.catch(() => {});
  await until(async () => (await usageRecords(gateway)).length === 1, { what: "the record" });
  const [record] = await usageRecords(gateway);
  assertEquals([record!.ending, record!.charged_credits], ["client_left", 0]);
  await until(() => isCancelled, { what: "the cancellation" });
  await assertLedgerClean(gateway);
});

Deno.test("the reply comes after its charge", async () => {
  await using upstream = fakeUpstream((request) => embeddingsReply(request));
  await using gateway = await startGateway({
    settings: embeddingsSettings(upstream.url),
    looksInside: true,
  });
  const { database } = gateway.gateway;
  const write = database.write.bind(database);
  const open = Promise.withResolvers<void>();
  let waiting = 0;
  database.write = async (wanted, item) => {
    if (wanted.name === "settlement") {
      waiting++;
      await open.promise;
    }
    return await write(wanted, item);
  };
  let hasReply = false;
  const reply = embed(gateway, { input: "Hi" }).then(async (one) => {
    hasReply = true;
    return await one.json();
  });
  await until(() => waiting === 1, { what: "the settlement" });
  await sleep(100);
  assertEquals(hasReply, false);
  open.resolve();
  assertEquals((await reply).data.length, 1);
});
