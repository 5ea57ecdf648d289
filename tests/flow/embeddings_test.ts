/** `POST /v1/embeddings` over real upstreams: what is sent, what comes back, what is refused. */

import { decodeVector } from "../../src/wire/embeddings/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { assertLedgerClean, customer } from "../fake/customer.ts";
import { embeddingsReply, embeddingsSettings } from "../fake/embeddings.ts";
import { startGateway, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { fakeUpstream } from "../fake/upstream.ts";

const PATH = "/v1/embeddings";

const embed = (gateway: TestGateway, body: Record<string, unknown>, options = {}) =>
  gateway.post(PATH, { model: "e", input: "Hi", ...body }, options);

Deno.test("a request goes on as it came, with the upstream's model; the reply comes back with the client's", async () => {
  await using upstream = fakeUpstream((request) =>
    embeddingsReply(request, { more: { vendor: { shape: [2, 3], id: 7 } } })
  );
  await using gateway = await startGateway({ settings: embeddingsSettings(upstream.url) });
  const body = {
    input: ["a", "bcd"],
    dimensions: 3,
    user: "u",
    input_type: "query",
    vendor: { deep: [1, { x: null }] },
  };
  const nulls = { encoding_format: null, truncate: null };
  const reply = await embed(gateway, { ...body, ...nulls }, {
    headers: { "x-request-id": "mine" },
  });
  assertEquals(await reply.json(), {
    object: "list",
    data: [
      { object: "embedding", index: 0, embedding: [0, 1, 0.1] },
      { object: "embedding", index: 1, embedding: [1, 3, 0.1] },
    ],
    model: "e",
    usage: { prompt_tokens: 7, total_tokens: 7 },
    vendor: { shape: [2, 3], id: 7 },
  });
  const [received] = upstream.received;
  assertEquals([received!.path, received!.body], ["/v1/embeddings", { ...body, model: "theirs" }]);
  assertEquals(
    ["x-sluice-upstream", "x-sluice-credits", "x-request-id"].map((name) =>
      reply.headers.get(name)
    ),
    ["up", "7", "mine"],
  );
  assert(Number(reply.headers.get("x-credits-remaining")) > 0);
  assert(reply.headers.get("x-ratelimit-limit") !== null);
  const [record] = await usageRecords(gateway);
  assertEquals(
    [record!.dialect, record!.route, record!.upstream_model, record!.input_tokens],
    ["embeddings", "e", "theirs", 7],
  );
  assertEquals([record!.usage_source, record!.charged_credits], ["upstream", 7]);
  await assertLedgerClean(gateway);
});

for (const asked of ["float", "base64", undefined] as const) {
  for (const given of ["float", "base64"] as const) {
    Deno.test(`encoding_format ${asked}, upstream sends ${given}: the client gets what it asked for`, async () => {
      await using upstream = fakeUpstream((request) =>
        embeddingsReply(request, { encoding: given })
      );
      await using gateway = await startGateway({ settings: embeddingsSettings(upstream.url) });
      const reply = await embed(gateway, asked === undefined ? {} : { encoding_format: asked });
      const [{ embedding }] = (await reply.json()).data;
      const floats = [...new Float32Array([0, 2, 0.1])];
      if (asked === "base64") assertEquals([...decodeVector(embedding)!], floats);
      else assertEquals(embedding, given === "float" ? [0, 2, 0.1] : floats);
      assertEquals(upstream.received[0]!.body.encoding_format, asked);
    });
  }
}

Deno.test("all four forms of input reach the upstream as they came", async () => {
  await using upstream = fakeUpstream((request) => embeddingsReply(request));
  await using gateway = await startGateway({ settings: embeddingsSettings(upstream.url) });
  const forms = ["text", ["one", "two"], [1, 2, 3], [[1], [2, 3], [200_000]]];
  for (const input of forms) {
    const reply = await embed(gateway, { input });
    assertEquals([reply.status, (await reply.json()).data.length > 0], [200, true]);
  }
  assertEquals(upstream.received.map(({ body }) => body.input), forms);
});

Deno.test("a long base64 text is a text like any other", async () => {
  await using upstream = fakeUpstream((request) => embeddingsReply(request, { tokens: 9 }));
  const settings = embeddingsSettings(upstream.url, { context: 1_000_000 });
  await using gateway = await startGateway({ settings });
  const input = ["x", "QUJDRGVm".repeat(30_000)]; // over the length from which images are detached
  const reply = await embed(gateway, { input });
  assertEquals([reply.status, (await reply.json()).data.length], [200, 2]);
  assertEquals(upstream.received[0]!.body.input, input);
});

Deno.test("an upstream's 400 is the client's, an unknown model a 404", async () => {
  await using upstream = fakeUpstream(({ body }) =>
    body.dimensions === undefined
      ? Response.json({ error: { message: "model theirs not found", code: "model_not_found" } }, {
        status: 404,
      })
      : Response.json({
        error: { message: "This model does not support dimensions.", param: "dimensions" },
      }, { status: 400 })
  );
  await using gateway = await startGateway({ settings: embeddingsSettings(upstream.url) });
  const refused = await embed(gateway, { dimensions: 8 });
  const { error } = await refused.json();
  assertEquals([refused.status, error.code, error.param], [400, "invalid_request", "dimensions"]);
  assertStringIncludes(error.message, "does not support dimensions");
  const unknown = await embed(gateway, {});
  assertEquals([unknown.status, (await unknown.json()).error.code], [404, "model_not_found"]);
  for (const { charged_credits } of await usageRecords(gateway)) assertEquals(charged_credits, 0);
});

Deno.test("an upstream that ignores `dimensions` is a 400 that says so, and costs nothing", async () => {
  await using upstream = fakeUpstream((request) => embeddingsReply(request));
  await using gateway = await startGateway({ settings: embeddingsSettings(upstream.url) });
  const reply = await embed(gateway, { dimensions: 2 });
  const { error } = await reply.json();
  assertEquals([reply.status, error.param], [400, "dimensions"]);
  assertStringIncludes(error.message, "returned 3 dimensions instead of 2");
  assertEquals(reply.headers.get("x-should-retry"), "false");
  assertEquals((await usageRecords(gateway))[0]!.charged_credits, 0);
});

Deno.test("a length that the settings promise is held: of replies, and of what is asked for", async () => {
  await using upstream = fakeUpstream((request) => embeddingsReply(request));
  const settings = embeddingsSettings(upstream.url, { dimensions: 4 });
  await using gateway = await startGateway({ settings });
  const wrong = await embed(gateway, {});
  const { error } = await wrong.json();
  assertEquals([wrong.status, error.code], [503, "upstream_unavailable"]);
  assertStringIncludes(error.message, "3 dimensions instead of 4");
  const beyond = await embed(gateway, { dimensions: 5 });
  assertEquals([beyond.status, (await beyond.json()).error.param], [400, "dimensions"]);
  const shorter = await embed(gateway, { dimensions: 3 });
  assertEquals([shorter.status, (await shorter.json()).data.length], [200, 1]);
  assertEquals(upstream.received.length, 2);
});

Deno.test("failover: the next target replies, and upstreams of the messages dialect are not asked", async () => {
  await using claude = fakeUpstream(() => new Response("no", { status: 500 }));
  await using down = fakeUpstream(() => new Response("no", { status: 503 }));
  await using up = fakeUpstream((request) => embeddingsReply(request));
  await using gateway = await startGateway({
    settings: {
      ...embeddingsSettings(up.url, {
        targets: [
          { upstream: "claude", model: "a" },
          { upstream: "down", model: "b" },
          { upstream: "up", model: "c" },
        ],
      }),
      upstreams: {
        claude: { url: claude.url, dialect: "messages" },
        down: { url: down.url },
        up: { url: up.url },
      },
    },
  });
  const reply = await embed(gateway, {});
  await reply.body?.cancel();
  assertEquals([reply.status, reply.headers.get("x-sluice-upstream")], [200, "up"]);
  assertEquals([claude.received.length, up.received[0]!.body.model], [0, "c"]);
  const [record] = await usageRecords(gateway);
  assertEquals([record!.attempts, record!.upstream_model], [2, "c"]);
});

Deno.test("weights share requests out, although embeddings are part of no conversation", async () => {
  await using a = fakeUpstream((request) => embeddingsReply(request));
  await using b = fakeUpstream((request) => embeddingsReply(request));
  await using gateway = await startGateway({
    settings: {
      ...embeddingsSettings(a.url, {
        targets: [
          { upstream: "a", model: "m", weight: 3 },
          { upstream: "b", model: "m", weight: 1 },
        ],
      }),
      upstreams: { a: { url: a.url }, b: { url: b.url, keys: ["key-one-1", "key-two-2"] } },
    },
  });
  for (let times = 0; times < 8; times++) {
    const reply = await embed(gateway, {}); // the same text each time
    await reply.body?.cancel();
  }
  assertEquals([a.received.length, b.received.length], [6, 2]);
  const keys = new Set(b.received.map(({ headers }) => headers.get("authorization")));
  assertEquals(keys.size, 2);
});

Deno.test("each endpoint refuses the other's models, counting too, and holds nothing for it", async () => {
  await using upstream = fakeUpstream((request) => embeddingsReply(request));
  await using gateway = await startGateway({ settings: embeddingsSettings(upstream.url) });
  const settings = { ...embeddingsSettings(upstream.url) };
  await gateway.reload({
    ...settings,
    routes: { ...settings.routes, g: { targets: [{ upstream: "up", model: "m" }] } },
  });
  const messages = [{ role: "user", content: "Hi" }];
  for (
    const [path, body, says] of [
      ["/v1/chat/completions", { model: "e", messages }, "POST /v1/embeddings"],
      ["/v1/messages", { model: "e", messages, max_tokens: 9 }, "POST /v1/embeddings"],
      ["/v1/messages/count_tokens", { model: "e", messages }, "POST /v1/embeddings"],
      [PATH, { model: "g", input: "Hi" }, "POST /v1/chat/completions or POST /v1/messages"],
    ] as const
  ) {
    const reply = await gateway.post(path, body);
    assertEquals(reply.status, 400, path);
    assertStringIncludes((await reply.json()).error.message, says);
  }
  assertEquals(upstream.received.length, 0);
  assertEquals(await usageRecords(gateway), []);
});

Deno.test("a key for other models, a key without credits, a bad key", async () => {
  await using upstream = fakeUpstream((request) => embeddingsReply(request));
  await using gateway = await startGateway({ settings: embeddingsSettings(upstream.url) });
  const { keys: [key] } = await customer(gateway, 3);
  const short = await embed(gateway, { input: "word ".repeat(50) }, { key });
  assertEquals([short.status, (await short.json()).error.code], [403, "insufficient_credits"]);
  const account = await gateway.gateway.accounts.create({ email: "other@example.com" });
  await gateway.gateway.sales.grant(account, { credits: 100 });
  const other = await gateway.gateway.keys.issue(account, { models: ["svc-k2"] });
  const denied = await embed(gateway, {}, { key: other.secret });
  assertEquals([denied.status, (await denied.json()).error.code], [403, "permission_denied"]);
  const bad = await embed(gateway, {}, { key: `sk-${"x".repeat(40)}` });
  assertEquals([bad.status, (await bad.json()).error.code], [401, "invalid_api_key"]);
  assertEquals(upstream.received.length, 0);
});

Deno.test("GET /v1/models names the kind; clients of messages are shown no embeddings", async () => {
  await using gateway = await startGateway({
    settings: { routes: { e: { kind: "embeddings", dimensions: 256 } } },
  });
  const list = async (headers: Record<string, string> = {}) =>
    (await (await fetch(`${gateway.url}/v1/models`, { headers })).json()).data;
  const of = (all: { id: string }[], id: string) => all.find((one) => one.id === id);
  const all = await list();
  // deno-lint-ignore no-explicit-any -- a reply as it came
  const e: any = of(all, "e");
  assertEquals([e.kind, e.dimensions, e.max_tokens], ["embeddings", 256, 0]);
  // deno-lint-ignore no-explicit-any -- a reply as it came
  assertEquals((of(all, "svc-k2") as any).kind, "generation");
  const forMessages = await list({ "anthropic-version": "2023-06-01" });
  assertEquals(forMessages.filter(({ id }: { id: string }) => /(^|-)e$/.test(id)), []);
  assert(of(forMessages, "claude-svc-k2") !== undefined);
});

Deno.test("more tokens than a body may have values otherwise, and no more than the limit", async () => {
  await using upstream = fakeUpstream((request) => embeddingsReply(request, { tokens: 299_000 }));
  const settings = embeddingsSettings(upstream.url, { context: 8_191, prices: { input: 1 } });
  await using gateway = await startGateway({ settings });
  const list = (count: number) =>
    Array.from({ length: count }, () => new Array(1_000).fill(99_999));
  const reply = await embed(gateway, { input: list(299) });
  assertEquals([reply.status, (await reply.json()).data.length], [200, 299]);
  const beyond = await embed(gateway, { input: list(301) });
  assertStringIncludes((await beyond.json()).error.message, "300,000 tokens per request");
  const values = await gateway.post(PATH, `{"model":"e","input":[${"[1],".repeat(400_000)}[1]]}`);
  assertStringIncludes((await values.json()).error.message, "too many JSON values");
});

Deno.test("traces, metrics, the log and reports have embeddings", async () => {
  await using upstream = fakeUpstream((request) => embeddingsReply(request));
  await using gateway = await startGateway({ settings: embeddingsSettings(upstream.url) });
  const reply = await embed(gateway, {});
  await reply.body?.cancel();
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  assertStringIncludes(
    metrics,
    `sluice_requests_total{dialect="embeddings",route="e",status="200",ending="complete"} 1`,
  );
  assertStringIncludes(gateway.log(), '"dialect":"embeddings"');
  const credits = await fetch(`${gateway.url}/user/credits`, {
    headers: { authorization: `Bearer ${gateway.key}` },
  });
  assertEquals((await credits.json()).usage_by_day.at(-1).input_tokens, 7);
});
