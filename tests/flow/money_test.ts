import { DatabaseError } from "../../src/ground/database/mod.ts";
import { audit, creditsOf } from "../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { assertLedgerClean, customer } from "../fake/customer.ts";
import { startGateway, statusOf, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { type SimulateServer, simulateServer } from "../fake/simulate.ts";
import { sleep, until } from "../fake/temp.ts";
import { chunk, completion, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";
import { PROOF } from "../tier.ts";

/** Prices that are easy to see: a credit for each output token, nothing for input. */
const BY_THE_TOKEN = {
  "token": {
    context: 100_000,
    maxOutput: 50_000,
    minimum: 1,
    prices: { input: 0, cached: 0, output: 1_000_000 },
  },
};

const ask = (content: string, more: Record<string, unknown> = {}) => ({
  model: "token",
  messages: [{ role: "user", content }],
  ...more,
});

/** The one request that was recorded, of an account if the gateway has several. */
async function onlyRecord(gateway: TestGateway, accountId?: string) {
  const ofAccount = async () =>
    (await usageRecords(gateway)).filter(({ account_id: id }) => id === (accountId ?? id));
  await until(async () => (await ofAccount()).length > 0);
  const records = await ofAccount();
  assertEquals(records.length, 1);
  return records[0]!;
}

const words = (count: number) =>
  Array.from({ length: count }, (_, index) => chunk({ content: `word${index} ` }));
// Proves P3, P5.
Deno.test("charged: complete, by the upstream's usage; the headers are exact", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: BY_THE_TOKEN },
  });
  const { keys: [key], balance } = await customer(gateway, 100);
  const reply = await gateway.post("/v1/chat/completions", ask("Hi"), { key: key! });
  assertEquals(reply.status, 200);
  await reply.body?.cancel();
  assertEquals(reply.headers.get("x-sluice-credits"), "3");
  assertEquals(reply.headers.get("x-credits-remaining"), "97");
  assertEquals(await balance(), 97);
  const record = await onlyRecord(gateway);
  assertEquals([record.usage_source, record.charged_credits], ["upstream", 3]);
  await assertLedgerClean(gateway);
});

Deno.test("charged: a request sent again with its Idempotency-Key is another one", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: BY_THE_TOKEN },
  });
  const { keys: [key], balance } = await customer(gateway, 100);
  const headers = { "idempotency-key": "again" };
  for (const left of [97, 94]) {
    const reply = await gateway.post("/v1/chat/completions", ask("Hi"), { key: key!, headers });
    await reply.body?.cancel();
    assertEquals([reply.status, await balance()], [200, left]);
  }
  assertEquals(upstream.received.map(({ headers }) => headers.get("idempotency-key")), [
    null,
    null,
  ]);
});

Deno.test("charged: an explicit zero is a report and costs the minimum", async () => {
  const zero = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  await using upstream = fakeUpstream(({ body }) =>
    body.stream
      ? eventStream(sse(
        ...words(5),
        chunk({}, "stop"),
        JSON.stringify({ choices: [], usage: zero }),
        "[DONE]",
      ))
      : completion("five words are said here", { usage: zero })
  );
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: BY_THE_TOKEN },
  });
  for (const stream of [false, true]) {
    const { accountId, keys: [key], balance } = await customer(gateway, 100);
    await (await gateway.post("/v1/chat/completions", ask("Hi", { stream }), { key: key! })).text();
    const record = await onlyRecord(gateway, accountId);
    assertEquals([record.usage_source, record.charged_credits, await balance()], [
      "upstream",
      1,
      99,
    ]);
  }
});

Deno.test("charged: without a report it is counted here", async () => {
  await using upstream = fakeUpstream(({ body }) =>
    body.stream
      ? eventStream(sse(...words(20), chunk({}, "stop"), "[DONE]"))
      : completion("some words that are said here", { usage: undefined })
  );
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: BY_THE_TOKEN },
  });
  for (const stream of [false, true]) {
    const { accountId, keys: [key], balance } = await customer(gateway, 500);
    const reply = await gateway.post("/v1/chat/completions", ask("Hi", { stream }), { key: key! });
    await reply.text();
    const record = await onlyRecord(gateway, accountId);
    assertEquals([record.usage_source, record.ending], ["counted", "complete"]);
    assert(Number(record.charged_credits) >= (stream ? 20 : 5));
    assertEquals(record.charged_credits, record.output_tokens);
    assertEquals(await balance(), 500 - Number(record.charged_credits));
  }
});

for (
  const { why, status, answer } of [
    { why: "a 4xx", status: 400, answer: () => new Response("{}", { status: 400 }) },
    { why: "a 5xx", status: 503, answer: () => new Response("{}", { status: 500 }) },
    { why: "what is no answer", status: 503, answer: () => new Response("<html>") },
  ]
) {
  Deno.test(`charged: nothing for ${why} before the first byte`, async () => {
    await using upstream = fakeUpstream(answer);
    await using gateway = await startGateway({
      settings: { upstream: { url: upstream.url }, routes: BY_THE_TOKEN },
    });
    for (const stream of [false, true]) {
      const { keys: [key], balance } = await customer(gateway, 10);
      const reply = await gateway.post("/v1/chat/completions", ask("Hi", { stream }), {
        key: key!,
      });
      assertEquals(reply.status, status);
      await reply.body?.cancel();
      assertEquals(reply.headers.get("x-credits-remaining"), "10");
      assertEquals(await balance(), 10);
      await assertLedgerClean(gateway);
    }
  });
}

Deno.test("charged: nothing for an upstream that times out", async () => {
  await using upstream = fakeUpstream(async (_, signal) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return completion("late");
  });
  await using gateway = await startGateway({
    settings: {
      upstreams: { one: { url: upstream.url, timeouts: { readMs: 300 } } },
      routes: BY_THE_TOKEN,
    },
  });
  const { keys: [key], balance } = await customer(gateway, 10);
  const reply = await gateway.post("/v1/chat/completions", ask("Hi"), { key: key! });
  assertEquals([reply.status, await balance()], [503, 10]);
  await reply.body?.cancel();
  await assertLedgerClean(gateway);
});

Deno.test("charged: nothing for an upstream that dies in mid-stream", async () => {
  for (const dialect of ["chat", "messages"] as const) {
    await using server = simulateServer();
    await using gateway = await startGateway({
      settings: { upstream: { url: server.url, dialect }, routes: BY_THE_TOKEN },
    });
    const { keys: [key], balance } = await customer(gateway, 5_000);
    for (const directive of ["cut after 6", "end after 6", "error after 6"]) {
      const body = ask(`[[${directive}]]`, { stream: true, max_tokens: 1_000 });
      const text = await (await gateway.post("/v1/chat/completions", body, { key: key! })).text();
      assertStringIncludes(text, "upstream_unavailable");
    }
    assertEquals(await balance(), 5_000);
    await assertLedgerClean(gateway);
  }
});

Deno.test("charged: nothing for the attempts before the one that answered", async () => {
  let calls = 0;
  await using upstream = fakeUpstream(() =>
    ++calls === 1 ? new Response("{}", { status: 500 }) : completion("ok")
  );
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: BY_THE_TOKEN },
  });
  const { keys: [key], balance } = await customer(gateway, 10);
  const reply = await gateway.post("/v1/chat/completions", ask("Hi", { max_tokens: 5 }), {
    key: key!,
  });
  await reply.body?.cancel();
  const record = await onlyRecord(gateway);
  assertEquals([reply.status, record.attempts, await balance()], [200, 2, 7]);
});

Deno.test("charged: nothing for a client that leaves before the first output", async () => {
  await using server = simulateServer();
  await using gateway = await startGateway({
    settings: { upstream: { url: server.url }, routes: BY_THE_TOKEN },
  });
  for (const stream of [false, true]) {
    const { accountId, keys: [key], balance } = await customer(gateway, 5_000);
    const before = server.requests;
    const leave = new AbortController();
    const body = ask("[[stall 5s]]", { stream, max_tokens: 1_000 });
    const asked = gateway.post("/v1/chat/completions", body, { key: key!, signal: leave.signal });
    await until(() => server.requests > before);
    await sleep(100);
    leave.abort();
    await asked.catch(() => {});
    const record = await onlyRecord(gateway, accountId);
    assertEquals([record.ending, record.charged_credits], ["client_left", 0]);
    assertEquals(await balance(), 5_000);
    await assertLedgerClean(gateway);
  }
});

/** Reads some of a stream, then leaves. */
async function hearAndLeave(gateway: TestGateway, key: string, prompt: string): Promise<void> {
  const leave = new AbortController();
  const body = ask(prompt, { stream: true, max_tokens: 1_000 });
  const reply = await gateway.post("/v1/chat/completions", body, { key, signal: leave.signal });
  const reader = reply.body!.getReader();
  let heard = "";
  while (heard.split("\n\n").length < 12) {
    heard += new TextDecoder().decode((await reader.read()).value);
  }
  leave.abort();
  await reader.cancel().catch(() => {});
}

/** The credits that a client who left was charged by what was delivered; the upstream is given up. */
async function chargedAsHeard(gateway: TestGateway, server: SimulateServer): Promise<number> {
  const record = await onlyRecord(gateway);
  assertEquals([record.ending, record.usage_source], ["client_left", "counted"]);
  await until(() => server.cancelled > 0);
  await assertLedgerClean(gateway);
  return Number(record.charged_credits);
}

Deno.test("charged: a client that leaves later pays for what was delivered (abort)", async () => {
  for (const dialect of ["chat", "messages"] as const) {
    await using server = simulateServer();
    await using gateway = await startGateway({
      settings: {
        upstream: { url: server.url, dialect },
        routes: BY_THE_TOKEN,
        onClientDisconnect: "abort",
      },
    });
    const { keys: [key], balance } = await customer(gateway, 5_000);
    await hearAndLeave(gateway, key!, "[[tokens 900]] [[pace 20ms]]");
    const charged = await chargedAsHeard(gateway, server);
    assert(charged >= 5 && charged < 100, `${charged}`);
    assertEquals(await balance(), 5_000 - charged);
  }
});

Deno.test("charged: a client that has left is charged once the database can be used again", async () => {
  await using gateway = await startGateway({ settings: { onClientDisconnect: "abort" } });
  const { database, inFlight: running } = gateway.gateway;
  const write = database.write.bind(database);
  let failing = 2;
  database.write = (wanted, item) => {
    if (wanted.name !== "settlement" || failing-- <= 0) return write(wanted, item);
    return Promise.reject(new DatabaseError("SQLITE_BUSY", "database is locked", { kind: "busy" }));
  };
  const reply = await gateway.chat("[[tokens 500]] [[pace 5ms]]", { stream: true });
  const reader = reply.body!.getReader();
  let said = "";
  while (!said.includes('content":"')) {
    said += new TextDecoder().decode((await reader.read()).value);
  }
  await reader.read();
  await reader.cancel();
  const record = await onlyRecord(gateway);
  assertEquals([record.ending, record.usage_source], ["client_left", "counted"]);
  assert(Number(record.charged_credits) > 0);
  await until(() => running.count === 0);
  await assertLedgerClean(gateway);
});

Deno.test("charged: a client that leaves later pays by the upstream's usage (drain)", async () => {
  await using server = simulateServer();
  await using gateway = await startGateway({
    settings: {
      upstream: { url: server.url },
      routes: BY_THE_TOKEN,
    },
  });
  const { keys: [key], balance } = await customer(gateway, 5_000);
  await hearAndLeave(gateway, key!, "[[tokens 300]] [[pace 2ms]]");
  const record = await onlyRecord(gateway);
  assertEquals([record.ending, record.usage_source], ["client_left", "upstream"]);
  assertEquals([record.charged_credits, await balance()], [300, 4_700]);
  assertEquals(server.cancelled, 0);
  await assertLedgerClean(gateway);
});

Deno.test("charged: a drained answer whose usage does not come is charged as it was heard", async () => {
  await using server = simulateServer();
  await using gateway = await startGateway({
    settings: {
      upstream: { url: server.url },
      routes: BY_THE_TOKEN,
      limits: { followMs: 300, drainMs: 5_000 },
    },
  });
  const { keys: [key], balance } = await customer(gateway, 5_000);
  await hearAndLeave(gateway, key!, "[[tokens 900]] [[pace 20ms]]");
  const charged = await chargedAsHeard(gateway, server);
  assert(charged >= 5 && charged < 60, `${charged}`);
  assertEquals(await balance(), 5_000 - charged);
});

Deno.test("not streamed: the output is lowered to what the balance pays", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: BY_THE_TOKEN },
  });
  const { keys: [key] } = await customer(gateway, 40);
  const reply = await gateway.post("/v1/chat/completions", ask("Hi", { max_tokens: 1_000 }), {
    key: key!,
  });
  await reply.body?.cancel();
  assertEquals(upstream.received[0]!.body.max_tokens, 40);
});

for (const front of ["chat", "messages"] as const) {
  for (const behind of ["chat", "messages"] as const) {
    // translated both ways in the gate; carried, as in most other tests, in the proofs
    const terms = front === behind ? PROOF : {};
    Deno.test(
      `streamed: the hold grows, and the stream ends when the balance does (${front} → ${behind})`,
      terms,
      async () => {
        await using server = simulateServer();
        await using gateway = await startGateway({
          settings: {
            upstream: { url: server.url, dialect: behind },
            routes: BY_THE_TOKEN,
            onClientDisconnect: "abort",
          },
        });
        // enough for the first step, for another, and for a part of a third, beside what another one holds
        const { accountId, keys: [key], balance } = await customer(gateway, 13_000);
        const path = front === "chat" ? "/v1/chat/completions" : "/v1/messages";
        const body = (prompt: string, max_tokens: number) =>
          ask(prompt, { stream: true, max_tokens });
        const other =
          (await gateway.post(path, body("[[stall 60s after 3]]", 4_000), { key: key! }))
            .body!.getReader();
        await other.read();
        const reply = await gateway.post(
          path,
          body("[[tokens 20000]] [[pace 0ms]]", 20_000),
          { key: key! },
        );
        const text = await reply.text();
        const { held } = await creditsOf(gateway.gateway.database, accountId, Date.now());
        assertEquals(await balance(), held, "all that the other one does not hold");
        await other.cancel();
        await until(async () => (await usageRecords(gateway)).length === 2);
        assertStringIncludes(
          text,
          front === "chat" ? '"finish_reason":"length"' : '"stop_reason":"max_tokens"',
        );
        assertStringIncludes(text, front === "chat" ? "[DONE]" : "message_stop");
        const record = (await usageRecords(gateway)).find(({ ending }) => ending === "complete")!;
        // it was asked for no more than the other one leaves
        assertEquals(record.usage_source, "upstream");
        assertEquals(record.charged_credits, 13_000 - held);
        const { uncollected } = await audit(gateway.gateway.database);
        assert(uncollected.credits < 20, `${uncollected.credits} uncollected`);
        await assertLedgerClean(gateway);
      },
    );
  }
}

Deno.test("streamed: an upstream is told what the whole balance pays for, and is not followed far beyond", async () => {
  const pieces = Array.from({ length: 120 }, () => chunk({ content: "word ".repeat(100) }));
  await using upstream = fakeUpstream(() =>
    eventStream(sse(...pieces, chunk({}, "stop"), "[DONE]"))
  );
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: BY_THE_TOKEN },
  });
  const { keys: [key] } = await customer(gateway, 40);
  const poor = await gateway.post(
    "/v1/chat/completions",
    ask("Hi", { stream: true, max_tokens: 9_000 }),
    { key: key! },
  );
  await poor.text();
  const limited = await gateway.chat("Hi", { stream: true, max_tokens: 50, model: "token" });
  const text = await limited.text();
  assertEquals(upstream.received.map(({ body }) => body.max_tokens), [40, 50]);
  assertStringIncludes(text, '"finish_reason":"length"');
  const words = text.split("word").length - 1;
  // as many as a miscount explains, and the rest of the chunk that was over that
  assert(words > 50 && words < 350, `${words}`);
  const records = await usageRecords(gateway);
  const [ofPoor, record] = [records.at(-2)!, records.at(-1)!];
  assertEquals([ofPoor.price_credits, ofPoor.charged_credits], [40, 40]);
  assertEquals(record.usage_source, "counted");
  const paid = Number(record.charged_credits);
  // what goes beyond that is the upstream's doing, and not charged
  assertEquals(paid, 114, `${words} words`);
});

Deno.test("a price above what is left is taken as far as it goes; the rest is told by the audit", async () => {
  await using upstream = fakeUpstream(() =>
    completion("ok", { usage: { prompt_tokens: 1, completion_tokens: 70, total_tokens: 71 } })
  );
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: BY_THE_TOKEN },
  });
  const { keys: [key], balance } = await customer(gateway, 50);
  const reply = await gateway.post("/v1/chat/completions", ask("Hi"), { key: key! });
  await reply.body?.cancel();
  assertEquals([reply.headers.get("x-sluice-credits"), await balance()], ["50", 0]);
  const record = await onlyRecord(gateway);
  assertEquals([record.price_credits, record.charged_credits], [70, 50]);
  await assertLedgerClean(gateway);
});

for (
  const { why, keys, proof, request } of [
    {
      why: "not streamed",
      keys: 1,
      proof: true,
      request: () => ({ stream: false, messages: false }),
    },
    { why: "streamed", keys: 1, proof: true, request: () => ({ stream: true, messages: false }) },
    {
      why: "in both dialects, streamed and not, with two keys",
      keys: 2,
      proof: false,
      request: (at: number) => ({ stream: at % 2 === 0, messages: at % 4 < 2 }),
    },
  ]
) {
  Deno.test(`200 requests at once with credits for one: ${why}`, proof ? PROOF : {}, async () => {
    await using server = simulateServer();
    await using gateway = await startGateway({
      settings: { upstream: { url: server.url }, routes: BY_THE_TOKEN },
    });
    const one = await customer(gateway, 20, { keys });
    const statuses = await Promise.all(Array.from({ length: 200 }, async (_, at) => {
      const { stream, messages } = request(at);
      const reply = await gateway.post(
        messages ? "/v1/messages" : "/v1/chat/completions",
        ask("[[stall 300ms]] Hi", { stream, max_tokens: 20 }),
        { key: one.keys[at % keys]! },
      );
      const text = await reply.text();
      if (reply.status === 403) {
        assertStringIncludes(text, messages ? "invalid_request_error" : "insufficient_credits");
        assertEquals(reply.headers.get("x-should-retry"), "false");
      }
      return reply.status;
    }));
    assertEquals(statuses.filter((status) => status === 200).length, 1);
    assertEquals(statuses.filter((status) => status === 403).length, 199);
    assertEquals(server.requests, 1);
    assert(await one.balance() >= 0);
    await assertLedgerClean(gateway);
  });
}

Deno.test("a balance that cannot pay the minimum and the input is refused; nothing is sent", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const poor = await customer(gateway, 2);
  const post = (model: string, content = "Hi") =>
    gateway.post("/v1/chat/completions", { model, messages: [{ role: "user", content }] }, {
      key: poor.keys[0]!,
    });
  const refused = await post("svc-k3"); // its minimum is 3
  assertEquals([refused.status, (await refused.json()).error], [403, {
    message:
      "This request costs at least 3 credits, which the balance of 2 credits does not cover. " +
      "Add credits, or shorten the request.",
    type: "insufficient_quota",
    code: "insufficient_credits",
    param: null,
  }]);
  assertEquals(refused.headers.get("x-credits-remaining"), "2");
  const long = await post("svc-k2", "word ".repeat(40_000)); // about 4 credits of input
  assertEquals(long.status, 403);
  await long.body?.cancel();
  assertEquals(upstream.received.length, 0);
  const paid = await post("svc-k2");
  assertEquals(paid.status, 200);
  await paid.body?.cancel();
  const nothing = await customer(gateway, 0);
  const empty = await gateway.post("/v1/chat/completions", ask("Hi", { model: "svc-k2" }), {
    key: nothing.keys[0]!,
  });
  assertEquals([empty.status, empty.headers.get("x-ratelimit-limit")], [403, null]);
  await empty.body?.cancel();
});

Deno.test("several choices are held, and told to the upstream, as what all of them may cost", async () => {
  const looked = Promise.withResolvers<void>();
  await using upstream = fakeUpstream(async () => {
    await looked.promise;
    return completion("ok", {
      choices: [0, 1].map((index) => ({
        index,
        message: { role: "assistant", content: "ok" },
        finish_reason: "stop",
      })),
    });
  });
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: BY_THE_TOKEN },
  });
  const { accountId, keys: [key] } = await customer(gateway, 100);
  const asked = gateway.post("/v1/chat/completions", ask("Hi", { n: 2, max_tokens: 20 }), {
    key: key!,
  });
  await until(() => upstream.received.length > 0);
  const { held } = await creditsOf(gateway.gateway.database, accountId, Date.now());
  looked.resolve();
  assertEquals([held, upstream.received[0]!.body.max_tokens], [40, 20]);
  const reply = await asked;
  await reply.body?.cancel();
  assertEquals(reply.status, 200);
  await assertLedgerClean(gateway);
});

Deno.test("a key's budget bounds what it spends, whatever the balance", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: BY_THE_TOKEN },
  });
  const { keys: [key], balance } = await customer(gateway, 100, { budget: 7 });
  const statuses = [];
  for (let times = 0; times < 4; times++) {
    const reply = await gateway.post("/v1/chat/completions", ask("Hi", { max_tokens: 3 }), {
      key: key!,
    });
    statuses.push([reply.status, (await reply.json()).error?.code]);
  }
  // 3 each; the third has 1 left, and is asked for no more: its upstream goes beyond that, which is charged
  assertEquals(statuses, [
    [200, undefined],
    [200, undefined],
    [200, undefined],
    [403, "insufficient_credits"],
  ]);
  assertEquals(upstream.received.map(({ body }) => body.max_tokens), [3, 3, 1]);
  assertEquals(await balance(), 91);
  await assertLedgerClean(gateway);
  const { uncollected } = await audit(gateway.gateway.database);
  assertEquals(uncollected, { requests: 0, credits: 0 });
});

Deno.test("requests at once ask for no more than a key's budget; what they cost beyond that is charged, and ends them", async () => {
  const usage = { prompt_tokens: 1, completion_tokens: 31, total_tokens: 32 };
  const text = "many words that cost more than was estimated ".repeat(3);
  const all = Promise.withResolvers<void>();
  let asked = 0;
  await using upstream = fakeUpstream(async () => {
    if (++asked === 10) all.resolve();
    await all.promise; // none is charged before all are admitted
    return completion(text, { usage });
  });
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: BY_THE_TOKEN },
  });
  const { keys: [key], balance, accountId } = await customer(gateway, 1_000, { budget: 20 });
  const { database } = gateway.gateway;
  const post = () =>
    statusOf(gateway.post("/v1/chat/completions", ask("Hi", { max_tokens: 2 }), { key: key! }));
  const statuses = await Promise.all(Array.from({ length: 10 }, post));
  assertEquals([statuses.filter((one) => one === 200).length, await post()], [10, 403]);
  const spent = await database.one(
    "select spent, credits from budgets join budget_periods on budget_id = id",
  );
  assertEquals(spent, { spent: 310, credits: 20 });
  assertEquals(await balance(), 690);
  assertEquals((await audit(database)).uncollected, { requests: 0, credits: 0 });
  const owed = await database.all(
    "select 1 from usage_records where account_id = ? and owed_credits > 0",
    [accountId],
  );
  assertEquals(owed, []);
  await assertLedgerClean(gateway);
});

Deno.test("a key's budget bounds streams whose holds grow at once, and the balance pays for the rest", async () => {
  await using upstream = fakeUpstream(() =>
    eventStream(sse(...words(9_000), chunk({}, "stop"), "[DONE]"))
  );
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: BY_THE_TOKEN },
  });
  const { keys: [key], balance } = await customer(gateway, 100_000, { budget: 9_000 });
  const texts = await Promise.all(Array.from({ length: 2 }, async () => {
    const body = ask("Hi", { stream: true, max_tokens: 20_000 });
    return await (await gateway.post("/v1/chat/completions", body, { key: key! })).text();
  }));
  for (const text of texts) assertStringIncludes(text, '"length"');
  for (const { body } of upstream.received) assert(body.max_tokens <= 9_000, `${body.max_tokens}`);
  const { spent } = (await gateway.gateway.database.one("select spent from budget_periods"))!;
  assert(Number(spent) > 8_000 && Number(spent) <= 9_000, `${spent} spent`);
  assertEquals(await balance(), 100_000 - Number(spent));
  await assertLedgerClean(gateway);
});

Deno.test("an account with uncollected charges runs one request at a time until it gets credits", async () => {
  const usage = { prompt_tokens: 1, completion_tokens: 31, total_tokens: 32 };
  let gate = Promise.withResolvers<void>();
  let arrived = Promise.withResolvers<void>();
  await using upstream = fakeUpstream(async ({ raw }) => {
    if (raw.includes("wait")) {
      arrived.resolve();
      await gate.promise;
    }
    return completion("much more than was estimated ".repeat(5), { usage });
  });
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: BY_THE_TOKEN },
  });
  const { keys: [key, other], email, balance } = await customer(gateway, 200, { keys: 2 });
  const post = (content: string, by: string, max_tokens = 2) =>
    gateway.post("/v1/chat/completions", ask(content, { max_tokens }), { key: by });
  /** Posts while another request is in flight. */
  const besideAnother = async (max_tokens: number) => {
    gate = Promise.withResolvers();
    arrived = Promise.withResolvers();
    const waiting = statusOf(post("wait", key!, max_tokens));
    await arrived.promise;
    const { status, headers, body } = await post("Hi", other!);
    await body?.cancel();
    const third = await post("Hi", other!);
    const message = (await third.json()).error?.message;
    gate.resolve();
    assertEquals(await waiting, 200);
    return { status, third: third.status, retryAfter: headers.get("retry-after"), message };
  };
  // 190 are held, so that the second request's 31 are 21 more than the balance has for it
  const { third, message, ...second } = await besideAnother(190);
  assertEquals([second.status, third], [200, 429]);
  assertStringIncludes(message, "one request at a time");
  assertStringIncludes(message, "add credits");
  const { uncollected } = await audit(gateway.gateway.database);
  assertEquals(uncollected, { requests: 1, credits: 21 });
  assertEquals(await balance(), 200 - 10 - 31);

  assertEquals(await statusOf(post("Hi", other!)), 200, "alone");
  const beside = await besideAnother(2);
  assertEquals([beside.status, beside.third, beside.retryAfter], [429, 429, "2"]);
  const somebodyElse = await customer(gateway, 50);
  assertEquals(await statusOf(post("Hi", somebodyElse.keys[0]!)), 200);

  await sleep(2); // the time of the lot is after that of the charge
  await gateway.gateway.sales.grant(await gateway.gateway.accounts.get(email), { credits: 100 });
  const after = await besideAnother(2);
  assertEquals([after.status, after.third], [200, 200]);
  await assertLedgerClean(gateway);
});

Deno.test("windows: the headers tell the nearest, 429 tells when, and refusals do not count", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  const now = Date.UTC(2030, 0, 1, 0, 0, 30);
  await using gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url },
      routes: BY_THE_TOKEN,
      tiers: [{ above: 0, minute: 3, hour: 100, day: 1_000 }],
    },
    now: () => now,
  });
  const { keys: [key] } = await customer(gateway, 100);
  const seen = [];
  for (const body of [ask("Hi"), ask("Hi", { temperature: 9 }), ask("Hi"), ask("Hi"), ask("Hi")]) {
    const { status, headers, body: stream } = await gateway.post("/v1/chat/completions", body, {
      key: key!,
    });
    await stream?.cancel();
    seen.push([status, headers.get("x-ratelimit-remaining"), headers.get("retry-after")]);
    assertEquals(headers.get("x-ratelimit-limit"), "3");
    assertEquals(headers.get("x-ratelimit-reset"), String(now / 1_000 + 30));
  }
  assertEquals(seen, [
    [200, "2", null],
    [400, "2", null],
    [200, "1", null],
    [200, "0", null],
    [429, "0", "30"],
  ]);
});

Deno.test("windows: a 429 by the account's window says so, whichever key it is", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  const now = Date.UTC(2030, 0, 1, 0, 0, 30);
  await using gateway = await startGateway({
    settings: {
      upstream: { url: upstream.url },
      routes: BY_THE_TOKEN,
      tiers: [{ above: 0, minute: 3, hour: 100, day: 1_000, account: { minute: 4 } }],
    },
    now: () => now,
  });
  const { keys } = await customer(gateway, 100, { keys: 2 });
  const seen = [];
  for (const key of [keys[0], keys[0], keys[1], keys[1], keys[1], keys[0]]) {
    const reply = await gateway.post("/v1/chat/completions", ask("Hi"), { key: key! });
    const message = (await reply.json()).error?.message;
    seen.push([
      reply.status,
      reply.headers.get("x-ratelimit-limit"),
      reply.headers.get("x-ratelimit-remaining"),
      message,
    ]);
  }
  const refused = "Rate limit reached: 4 requests per minute for this account. " +
    "Please try again in 30 s.";
  assertEquals(seen, [
    [200, "3", "2", undefined],
    [200, "3", "1", undefined],
    [200, "4", "1", undefined],
    [200, "4", "0", undefined],
    [429, "4", "0", refused],
    [429, "4", "0", refused],
  ]);
  await assertLedgerClean(gateway);
});

Deno.test("GET /user/credits tells balance, holds, lots and recent use", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url }, routes: BY_THE_TOKEN },
  });
  const one = await customer(gateway, 50);
  const account = await gateway.gateway.accounts.get(one.email);
  const expiresAtMs = Date.now() + 86_400_000;
  await gateway.gateway.sales.grant(account, { credits: 5, expiresAtMs });
  for (let times = 0; times < 2; times++) {
    const reply = await gateway.post("/v1/chat/completions", ask("Hi"), { key: one.keys[0]! });
    await reply.body?.cancel();
  }
  const get = (query: string) =>
    fetch(`${gateway.url}/user/credits${query}`, { headers: { "x-api-key": one.keys[0]! } });
  const reply = await get("?days=7&hours=2");
  const body = await reply.json();
  assertEquals(reply.headers.get("x-credits-remaining"), "49");
  const used = { requests: 2, input_tokens: 14, output_tokens: 6, credits: 6 };
  const date = new Date().toISOString();
  assertEquals(body, {
    object: "credit_usage",
    credits_remaining: 49,
    credits_consumed: 6,
    credits_held: 0,
    requests: 2,
    average_tokens_per_request: 10,
    budgets: [],
    usage_by_day: [{ date: date.slice(0, 10), ...used }],
    usage_by_hour: [{ hour: `${date.slice(0, 13)}:00Z`, ...used }],
    // the one that expires was spent first
    lots: [{
      id: body.lots[0].id,
      source: "grant",
      granted: 50,
      remaining: 49,
      expires_at: null,
      models: null,
    }],
  });
  assertEquals((await (await get("?days=0")).json()).error.param, "days");
  const unknown = await fetch(`${gateway.url}/user/credits`);
  assertEquals(unknown.status, 401);
  await unknown.body?.cancel();
});
